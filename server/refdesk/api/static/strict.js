// Counts what the page's policy refused, from before the widget loads.
let refused = 0;
document.addEventListener("securitypolicyviolation", (event) => {
  refused += 1;
  console.warn("Refused:", event.effectiveDirective, event.blockedURI);
  const output = document.getElementById("violations");
  if (output) output.textContent = String(refused);
});
