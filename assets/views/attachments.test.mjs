import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runInput, readAttachment, writtenIn } from "./attachments.js";

describe("reading a file", () => {
  test("image", async () => {
    const file = new File([new Uint8Array([1, 2, 255])], "a.png", { type: "image/png" });
    assert.deepEqual(await readAttachment(file), { name: "a.png", image: { media_type: "image/png", data: "AQL/" } });
  });
  test("text of any media type", async () => {
    assert.deepEqual(await readAttachment(new File(["hé"], "a.go")), { name: "a.go", text: "hé" });
  });
  for (const [name, bytes] of [["no UTF-8", [0xff, 0xfe]], ["zeros", [0x61, 0]]]) {
    test(`${name} is rejected`, async () => {
      await assert.rejects(readAttachment(new File([new Uint8Array(bytes)], "a.bin")), /a\.bin is not a text or image file/);
    });
  }
  test("a large file is rejected", async () => {
    await assert.rejects(readAttachment(new File(["x".repeat((1 << 20) + 1)], "a.txt")), /larger than 1 MB/);
  });
});

describe("the input of a run", () => {
  test("is a text", () => assert.deepEqual(runInput("hi", [], []), { input: { type: "text", text: "hi" }, attachments: [] }));
  test("has images as parts, and texts and mentions as attachments", () => {
    const image = { media_type: "image/png", data: "AQ==" };
    assert.deepEqual(runInput("hi", [{ name: "a.png", image }, { name: "a.txt", text: "" }], ["b.go"]), {
      input: { type: "parts", parts: [{ type: "text", text: "hi" }, { type: "image", name: "a.png", ...image }] },
      attachments: [{ name: "a.txt", text: "" }, { path: "b.go" }],
    });
  });
});

describe("a prompt that is sent again", () => {
  const image = { name: "a.png", media_type: "image/png", data: "AQ==", size: 1 };
  test("has its images and paths", () => assert.deepEqual(writtenIn({ text: "hi", attachments: [image, { name: "b.go", path: "src/b.go" }] }), {
    text: "hi", attached: [{ name: "a.png", image: { media_type: "image/png", data: "AQ==" } }], mentions: ["src/b.go"],
  }));
  test("cannot be written again if only the portal has its text", () => assert.equal(writtenIn({ text: "hi", attachments: [{ name: "a.txt", size: 5 }] }), undefined));
});
