"""Marks of languages: words, letters and endings that people who ask a help centre really use.

`STOP_WORDS` covers the larger languages; here are short lists for more of them, so that they are recognised as foreign
and not taken for a neighbour, and the topic words, letters and endings that decide questions without function words.
"""

from __future__ import annotations

FUNCTION_WORDS = {
    "sk": """
        ako som sme ste prečo môžem môžete kde kedy koľko čo alebo keď ktorý ktorá ktoré pri pre sú nie tiež už môj
        moja moje mám máte potrebujem chcem prosím dobrý deň na je sa si v do zo s z k
    """,
    "hr": """
        kako što koji koja koje gdje kada zašto koliko mogu moj moja moje imam imate želim trebam molim dobar dan ili
        nije jesam ste smo su sam za na je se u i s
    """,
    "sl": """
        kako kaj kje kdaj zakaj koliko lahko moj moja moje imam imate želim prosim dober dan ali ni sem ste smo so za
        na je se v in z
    """,
    "sv": """
        hur vad var när varför kan jag min mitt mina du ni vi är och att det den en ett för från till med på av inte
        har ska vill om eller hej tack
    """,
    "da": """
        hvordan hvad hvor hvornår hvorfor kan jeg min mit mine du i vi er og at det den en et for fra til med på af
        ikke har skal vil om eller hej tak
    """,
    "no": """
        hvordan hva hvor når hvorfor kan jeg min mitt mine du vi er og å at det den en et for fra til med på av ikke
        har skal vil om eller hei takk
    """,
    "fi": """
        miten mitä missä milloin miksi voinko voin minun minä sinä onko ovat olen ei ja tai että kun jos hei kiitos
        kuinka paljonko mikä
    """,
    "hu": """
        hogyan mi hol mikor miért lehet az egy és vagy nem van a be ki kell tudok szeretnék ha mennyi kérem köszönöm
        hogy mit melyik
    """,
    "ro": """
        cum ce unde când de ce pot meu mea am este sunt și sau nu pentru din cu la pe să vreau cât bună mulțumesc care
    """,
    "tr": """
        nasıl ne nerede zaman neden niçin kaç bir ve veya değil için ile bu şu mı mi mu mü var yok benim istiyorum
        merhaba lütfen hangi nedir
    """,
    "vi": """
        làm thế nào là gì ở đâu khi tại sao có thể tôi của và hoặc không cho với này muốn bao nhiêu xin chào cảm ơn
        được
    """,
    "id": """
        bagaimana apa di mana kapan mengapa bisa saya anda dan atau tidak untuk dengan dari ini itu ingin berapa yang
        cara apakah halo terima kasih
    """,
    "et": """
        kuidas mis kus millal miks saan minu ma on ja või ei ning kui tere palun aitäh kas
    """,
    "lt": """
        kaip kas kur kada kodėl galiu mano aš yra ir arba ne jei kiek noriu labas prašau ačiū ar
    """,
    "lv": """
        kā kas kur kad kāpēc varu mans es ir un vai nav ja cik vēlos lūdzu paldies sveiki
    """,
    "ca": """
        com què on quan per quin quina puc el meu la meva és són i o no amb del als vull quant hola gràcies
    """,
    "bg": """
        как какво къде кога защо мога моят моята аз е са и или не за от на с да ли колко искам моля благодаря се ще
        съм
    """,
    "sr": """
        како шта где када зашто могу мој моја моје сам је су и или није за од на са да ли колико желим молим хвала се
    """,
    "be": """
        як што дзе калі чаму магу мой мая маё ёсць і або не для з на ці колькі хачу калі ласка дзякуй
    """,
}

TOPIC_WORDS = {
    "en": """
        account address answer api article billing cancel change check connect contact create customer delete download
        email enable error export file find help import install invite invoice login message money number open order
        page password pay payment plan price problem read refund remove report reset return save send service set
        setting setup ship show sign start stop subscription support team thank turn update upload user work write
    """,
    "ru": """
        аккаунт адрес ошибк заказ настро парол подключ пользоват счет тариф удал возврат верну деньг оплат цен
    """,
    "cs": """
        adres chyb clank dekuj dodan dopln faktur heslo hesla hovor jazyk klavesnic mesic nabid nastav objednav oblast
        obnov odeb odesl odhlas odpoved odstran opravn otazk otevr oznam penez penize pomoc posta plat poplat poslat
        prehled prihlas prida pridat prikl pripoj problem prohliz pruvodc registr reklamac sdilen sdilet skupin sluzb
        smaz smlouv soubor spravc spravov stahn stahov stiznost stranek stranky tabulk ucet ucty uloz upozorn upravit
        uzivat vlozen vlozit vrat vytvor vyhled vyreseni vyresit vymaz vysledk vypnout zabezpec zakaz zakazn zapnout
        zapom zaruk zasad zmen zmena zobraz zprav zrus
    """,
    "de": """
        abbrech danke adress aender andern anmeld anruf antwort anzeig bearbeit benutz bestell bezahl datei einricht
        einstell erstell fehler geld hilfe hinzufug kennwort konto kosten kunde kundig losch nachricht passwort
        rechnung ruckgab schlussel seite speicher verbind vertrag zahlung zuruck
    """,
    "fr": """
        abonnement achat adresse adresses annul bonjour boite changer client commande compte connex creer courriel
        donnees enregistr envoy erreur facture factures fichier fonctionn gerer livraison merci modifi motdepasse
        paiement parametr passe payer prix rembours reinitialis supprim telecharg utilis
    """,
    "es": """
        anadir archivo ayuda borrar cambiar cancelar clave cliente comprar contrasena correo crear cuenta descargar
        devolu dinero eliminar enviar error factura facturas gracias hola iniciar mensaje modific necesit pagar pago
        pedido precio producto reembols sesion usuario
    """,
    "pt": """
        adicionar alterar apagar arquivo ajuda boleto cancelar cliente comprar conta criar dinheiro enviar excluir
        fatura mensagem mudar obrigad pagamento pagar pedido preco reembolso senha usuario
    """,
    "it": """
        account acquist aggiung annull cambiare carica cliente comprar conto creare elimin errore fattur grazie impost
        inviare messagg modific ordine pagament pagare prezzo rimbors scaric utent
    """,
    "pl": """
        adres anulow bled dodac dziek faktur haslo hasla konto klient platn pieniadz pomoc usun ustaw uzytkown
        wiadomos wyslac zamow zapisac zmien zwrot
    """,
    "nl": """
        bericht bestand bestell betal factuur gebruiker geld instell klant openen verander verwijder wachtwoord wijzig
        annuler account prijs
    """,
    "sk": """
        chyb clank dakuj faktur heslo hesla nastav objednav odstran peniaz peniaze prihlas prida pripoj ucet ucty vrat
        vytvor zmen zrus
    """,
    "uk": """
        замовлен налашт пароль рахун повернен гроші ціна підключ користувач
    """,
}
"""Beginnings of words, accents folded, at least four letters."""

LETTERS = {
    "cs": "řěůáíéýčšžňťďú",
    "sk": "ľĺŕôäáíéýčšžňťďú",
    "pl": "łąęśźżńćó",
    "de": "ßüöä",
    "fr": "çœêèùâîûëéà",
    "es": "ñáíóúé",
    "pt": "ãõçáíóúéâê",
    "it": "èòàù",
    "ro": "șțăâî",
    "hu": "őűáéíóú",
    "tr": "ğışçöü",
    "vi": "ơưạảấầẩậắằặẹẻẽếềểệỉịọỏốồổộớờởợụủứừửựỳỵỷỹ",
    "sv": "åäö",
    "da": "øæ",
    "no": "øå",
    "fi": "äö",
    "et": "äöüõ",
    "lv": "āēīļņģķ",
    "lt": "ėįų",
    "hr": "đčšž",
    "sl": "čšž",
    "ru": "ыэъё",
    "uk": "іїєґ",
    "be": "ўі",
    "sr": "јљњћџђ",
    "bg": "ъ",
}
"""Letters beyond a to z; the fewer languages have one, the more it says. All of them speak against English."""

ENDINGS = {
    "en": """
        ed ing tion tions ness ment able ally ity ship ough ght ers ies ted
    """,
    "cs": """
        ani eni ovani ovat ovani nost nosti osti ych eho emu ich nich uje ovy ova ove ste sky ske ska cky cke cka nim
        cich tele telu telum ami kach ech ku aci ny nych zit vat
    """,
    "sk": """
        anie enie ovat nost nosti ych eho emu ich uje sky ske ska
    """,
    "de": """
        ung ungen keit heit lich ieren isch schaft tion chen ten
    """,
    "fr": """
        ment tion tions eur eurs ique aux euse ation er ez
    """,
    "es": """
        cion ciones dad miento ando iendo cia ar ción
    """,
    "pt": """
        cao coes dade mento ando endo cia ar
    """,
    "it": """
        zione zioni mento ita are ere ire
    """,
    "pl": """
        owac nie osc osci ego ych emu cja cji nia aniu eniu owy owa owe
    """,
    "nl": """
        ing ingen heid lijk eren ij
    """,
    "hr": """
        anje enje ovati ost osti ati iti nih
    """,
}
"""Endings of words of five letters and more, accents folded."""
