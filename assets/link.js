// The page that opens a link to a session: it exchanges the token in the address for a cookie, and then shows the session. The token is in the
// fragment, which browsers do not send, and leaves the address at once.

const place = location.pathname;

async function open() {
  const token = location.hash.slice(1);
  history.replaceState(null, "", place);
  try {
    const { status } = await fetch("open", { method: "POST", headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-store" });
    if (status === 204) return location.replace(place);
    if (status === 401) return say("This link does not work", "It has expired, was revoked, or is incomplete. Ask the person who sent it for a new one.");
    if (status === 429) return say("Too many attempts", "Wait a minute, and open the link again.");
    say("Could not open the session", `The portal returned status ${status}.`, token);
  } catch {
    say("Can't reach the portal", "It isn't running, or this device is offline.", token);
  }
}

/** Shows what happened. @param {string} title @param {string} text @param {string} [token] to try again with */
function say(title, text, token) {
  const heading = document.createElement("h1");
  heading.textContent = title;
  const line = document.createElement("p");
  line.textContent = text;
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => {
    if (token) history.replaceState(null, "", `${place}#${token}`);
    location.reload();
  });
  document.getElementById("link")?.replaceChildren(heading, line, ...(token === undefined ? [] : [again]));
}

void open();

export {};
