// The dialog that compares two versions of an interface.

import { h, messageOf, setHTML, setText } from "../dom.js";
import { baseVersion } from "../interfaces.js";

/**
 * @param {(method: string, params: Record<string, unknown>) => Promise<any>} call
 * @param {import("../interfaces.js").Info} info @param {number} version
 */
export function compareVersions(call, info, version) {
  const choice = (/** @type {string} */ label) => h("select", { "aria-label": label }, ...info.versions.map(({ number }) => h("option", { value: number }, `Version ${number}`)));
  const [from, to] = [choice("From"), choice("To")];
  const other = version === info.current ? baseVersion(info, version)?.number ?? info.versions.find(({ number }) => number !== version)?.number ?? version : info.current;
  [from.value, to.value] = [version, other].sort((a, b) => a - b).map(String);
  const counts = h("p", { class: "muted", role: "status" });
  const diff = h("div", { class: "compare-diff", tabindex: "0", role: "region", "aria-label": "Difference", "data-testid": "diff" });
  const close = h("button", { class: "primary" }, "Close");
  const node = h("dialog", { class: "dialog compare", "aria-label": "Compare versions", "data-testid": "compare" },
    h("form", { method: "dialog" }, h("h2", {}, "Compare versions"), h("div", { class: "compare-choice" }, from, h("span", { "aria-hidden": "true" }, "→"), to), counts, diff, h("div", { class: "dialog-actions" }, close)));
  const show = async () => {
    try {
      const { html, added, removed } = await call("compare", { from: Number(from.value), to: Number(to.value) });
      setHTML(diff, html);
      setText(counts, html ? `${added === 1 ? "1 line" : `${added} lines`} added, ${removed} removed` : "No differences.");
    } catch (error) {
      setText(counts, messageOf(error));
    }
  };
  from.addEventListener("change", () => void show());
  to.addEventListener("change", () => void show());
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
  close.focus();
  void show();
}
