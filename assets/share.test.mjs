import assert from "node:assert/strict";
import { test } from "node:test";

import { expiryText, isLocal, linkText, usedText } from "./share.js";

const now = Date.parse("2026-03-01T12:00:00Z");
const at = (/** @type {number} */ ms) => new Date(now + ms).toISOString();
const minute = 60_000, hour = 60 * minute, day = 24 * hour;

test("an expiry has its largest unit", () => {
  const cases = /** @type {[number, string][]} */ ([[1, "1 minute"], [minute, "1 minute"], [minute + 1, "2 minutes"], [hour, "60 minutes"], [2 * hour, "2 hours"], [day, "24 hours"], [2 * day, "2 days"], [7 * day, "7 days"], [6 * day + 1, "7 days"], [30 * day, "30 days"]]);
  for (const [ms, text] of cases) assert.equal(expiryText(at(ms), now), `expires in ${text}`);
  assert.equal(expiryText(at(0), now), "expired");
  assert.equal(expiryText(at(-day), now), "expired");
});

test("a last use is told", () => {
  assert.equal(usedText(undefined, now), "never used");
  assert.equal(usedText(at(-minute), now), "in use, or used just now");
  assert.equal(usedText(at(-5 * minute), now), "last used 5 minutes ago");
  assert.equal(usedText(at(-3 * day), now), "last used 3 days ago");
});

test("the page of a link says what it allows", () => {
  assert.equal(linkText("read", at(6 * day), now), "You can read this session. The link expires in 6 days.");
  assert.equal(linkText("answer", at(hour), now), "You can read this session and answer its questions. The link expires in 60 minutes.");
  assert.equal(linkText("read", at(-1), now), "You can read this session. The link has expired.");
});

test("addresses of this machine are recognized", () => {
  for (const host of ["localhost", "portal.localhost", "127.0.0.1", "127.9.9.9", "[::1]"]) assert.ok(isLocal(host), host);
  for (const host of ["192.168.1.5", "portal.example", "localhost.example", "[fe80::1]", "127.0.0.1.nip.io"]) assert.ok(!isLocal(host), host);
});
