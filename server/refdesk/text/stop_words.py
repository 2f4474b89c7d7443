"""Function words: they carry no topic, and they tell languages apart. Written for questions to a help centre."""

from __future__ import annotations

import unicodedata

_WORDS = {
    "en": """
        a about after again all also am an and any anyone anything are as at be because been before being between both
        but by can cannot could d did do does doing don done down each else even ever every few for from get gets
        getting give go going got had has have having he hello her here hers hey hi him his how i if in into is isn it
        its itself just let like ll m many may maybe me might more most much must my myself need needs no nor not now
        of off on once one only or other our ours out over own please re s same shall she should so some somehow
        someone something still such t tell than that the their theirs them then there these they thing this those
        through to too under until up upon us use ve very want wanted wants was wasn way we were what whatever when
        where whether which while who whom whose why will with won would yes yet you your yours aren couldn didn doesn
        hadn hasn haven shouldn weren wouldn
    """,
    "ru": """
        а без более больше бы был была были было быть в вам вами вас ваш ваша ваше ваши вашей вашего весь во вот все
        всё всего всегда всех вы где да даже для до его ее её ей ему если есть еще ещё ж же за здесь здравствуйте
        зачем и из или им ими их к каждый как какая какие каким каких какого какое какой какую кем когда кого ком кому
        которая которой которого которое которую которые который которых кто куда ли либо между меня мне много мной
        могу могут мог можем может можете можно мои мой моя мое моё моего моей моему мою моих мы на над надо нам нами
        нас наш наша наше наши не него нее неё ней нельзя нем нём нет ни нибудь них никак но ну нужно нужен нужна
        нужны о об один одна одно однако он она они оно от откуда очень по под пожалуйста после потом потому почему
        при про привет раз с сам сама сами само самый свой своя свое своё свои своего своей свою себе себя сейчас со
        сколько та так такая такие такого такое такой там те тем теми тех то тобой тогда того тоже той только том тот
        тому ту ты у уже хотел хотела хочу хотим хотят хотелось чего чей чем через что чтобы чтоб эта эти этим этих
        это этого этой этом этот эту я подскажите скажите
    """,
    "cs": """
        a aby ahoj aj ale ani ano asi až bez bude budeme budete budou budu by bych byl byla byli bylo byly bych bychom
        bys být byste co což či čeho čem čemu dál do dobrý den ho i já jak jaká jaké jaký jakou jakého jakém jakým
        jakých je jeho jej její jejich jeli jemu jen ještě jestli jestliže ji jí jich jim jím jimi jinak jsem jsi jsme
        jsou jste již k kam kde kdo kdy kdyby když ke kolik komu koho který která které kterého kterém kterou kterých
        kterým kvůli lze má mají mám máme máš máte mě mezi mi mít mne mně mnou mohl mohla mohli mohou mohu moje moji
        můj mou mu musí musím můžu může můžeme můžete můžou my na nad nám námi nás náš naše naši ne nebo nebyl něco
        nějak nějaký nějaká nějaké někde někdo není než nic nich ním nimi o od on ona oni ono pak po pod podle pokud
        potom potřebuji potřebuju pro proč prosím proto protože před přes při s se si sice svá své svého svém svou
        svůj svých svým ta tady tak také takže tam tato te tě tedy ten tento této ti tím tímto to tobě tohle toho tom
        tomto tomu tu tuto tvůj ty tyto u už v vám vámi vás váš vaše vaši ve více však všechno všechny všech vše vy z
        za zda zde ze že chci chtěl chtěla chceme chcete
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere auch auf aus bei beim bin bis bist bitte da dadurch
        damit dann das dass dein deine dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir
        doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen gibt habe haben hallo hat
        hatte hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann
        kannst kein keine keinen können könnte machen man mehr mein meine meinem meinen meiner mich mir mit möchte
        muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine sich sie sind so soll sollte sondern
        über um und uns unser unsere unter viel vom von vor wann war warum was weil welche welchem welchen welcher
        welches wenn wer werden wie wieder will wir wird wo woher wohin zu zum zur zwischen
    """,
    "fr": """
        à ai alors as au aucun aussi autre aux avant avec avez avoir avons bonjour c ce cela ces cet cette ceux chaque
        chez combien comme comment d dans de depuis des dois doit donc du elle elles en encore entre est et être eu
        faire fait faut il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne nos notre nous on
        ont ou où par pas peu peut peux plus pour pourquoi pouvez puis qu quand que quel quelle quelles quels qui quoi
        s sa sans se ses si sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une va
        veux vos votre voudrais vous y
    """,
    "es": """
        a al algo alguna algunas alguno algunos ante antes aquí así aún aunque cada como cómo con cual cuál cuales
        cuáles cuando cuándo cuanto cuánto de debe debo del desde donde dónde dos e el él ella ellas ellos en entre
        era es esa ese eso esta está están este esto estos estas fue ha hace hacer hasta hay he hola la las le les lo
        los más me mi mis mí muy ni no nos nosotros nuestra nuestro o otra otro para pero por porque puede puedo
        pueden que qué quien quién quiero se sea ser si sí sin sobre son soy su sus también tan te tiene tengo tienen
        todo todos tu tus un una unas uno unos usted ustedes y ya yo
    """,
    "pt": """
        a ao aos as até com como da das de dela dele do dos e é ela elas ele eles em entre era essa esse esta está
        estão este eu foi há isso isto já la lhe mais mas me mesmo meu meus minha minhas muito na não nas nem no nos
        nós o olá os ou onde para pela pelo pode posso por porque porquê qual quais quando quanto que quem quero se
        sem ser seu seus sua suas são também te tem têm tenho tudo um uma você vocês
    """,
    "it": """
        a ai al alla alle allo anche avere c che chi ci ciao come con cosa cui da dai dal dalla dalle degli dei del
        dell della delle dello devo di dove e è ed era essere fa fare gli ha hai hanno ho i il in io l la le lei lo
        loro lui ma mi mia mie miei mio ne nei nel nella nelle noi non nostra nostro o per perché però più può posso
        puoi qual quale quali quando quanto quella quello questa questo se sei senza si sia sono sta su sua sue sui
        sul sulla suo tra tu tua tuo tutti tutto un una uno vi voglio vorrei voi
    """,
    "pl": """
        a aby ale ani bardzo bez być był była było były chcę ci co czy dla do dlaczego dzień dobry gdy gdzie go i ich
        ile im innych ja jak jaka jaki jakie jako je jego jej jest jestem jeśli jeszcze już każdy kiedy kto która
        które który ma mają mam mi mnie mogę może można mój moja moje muszę na nad nas nasz nie nich niż o od oni oraz
        po pod ponieważ proszę przed przez przy są się swoje ta tak także tam te tego tej ten to tu tych tylko tym u w
        we więc wszystkie z za ze że
    """,
    "nl": """
        aan al alle als bij dan dat de den der deze die dit door een en er geen graag had hallo heb hebben heeft het
        hier hij hoe hun ik in is je jij jouw jullie kan kunnen kun maar me meer met mijn moet mij na naar niet nog nu
        of om omdat onder ons onze ook op over te tot u uit uw van veel voor waar waarom wanneer was wat we welke wie
        wij wil wordt worden zich zij zijn zo zonder
    """,
    "uk": """
        а або але б без би був була було бути в вам ви вас ваш де для до є з за зі і із їх й його її як яка яке який
        які якщо коли ми мені мене мій моя може можна на над нам нас наш не немає ні о об по під при про та так також
        те ти то того тільки у хочу це цей ця чи чому що щоб я
    """,
}

_WORDS_WITHOUT_ACCENTS = {"cs": {"byt", "dal", "tim", "jimi"}, "fr": {"a"}, "pl": {"zeby"}}
"""Typed without accents these would be other, meaningful words (Czech `byt`, a flat)."""


def _without_accents(word: str) -> str:
    kept = [char for char in unicodedata.normalize("NFD", word) if not "\u0300" <= char <= "\u036f"]
    return unicodedata.normalize("NFC", "".join(kept)).replace("ł", "l")


def _both_ways(language: str, text: str) -> frozenset[str]:
    """As written, and as people type it without accents; ё is е as everywhere, й and ї stay."""
    words = {word.replace("ё", "е") for word in text.split()}
    if language in ("ru", "uk"):
        return frozenset(words)
    bare = {_without_accents(word) for word in words} - _WORDS_WITHOUT_ACCENTS.get(language, set())
    return frozenset(words | bare)


STOP_WORDS = {language: _both_ways(language, text) for language, text in _WORDS.items()}
