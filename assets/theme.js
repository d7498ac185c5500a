// Applies the appearance that this browser stores (views/settings-appearance.js) to the root element. It is a classic script in the
// head of index.html, because modules may run after the first paint.
{
  const apply = () => {
    const root = document.documentElement;
    let theme = /** @type {string | null} */ (null);
    let density = /** @type {string | null} */ (null);
    try {
      theme = localStorage.getItem("portal.theme");
      density = localStorage.getItem("portal.density");
    } catch {
      // the browser stores nothing: the system's theme
    }
    root.toggleAttribute("data-theme", false);
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    root.toggleAttribute("data-density", false);
    if (density === "compact") root.dataset.density = density;
    // The canvas has this scheme until the style sheet is loaded.
    document.querySelector('meta[name="color-scheme"]')?.setAttribute("content", root.dataset.theme ?? "light dark");
  };
  apply();
  addEventListener("appearance", apply); // changed in this tab
  addEventListener("storage", apply); // changed in another tab
}
