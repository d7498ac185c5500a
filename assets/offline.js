// The page of the app while the portal cannot be reached: it loads the address again once the portal answers.

const again = () => location.reload(); // which keeps the address, unlike following a link
document.querySelector("a")?.addEventListener("click", (event) => {
  event.preventDefault();
  again();
});
setInterval(() => {
  fetch("health", { cache: "no-store" }).then(again, () => {});
}, 5000);

export {};
