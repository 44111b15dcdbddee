import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { loadSnapshot } from "@/lib/releases/catalog/manifest";
import { appcastProblem, withheldAppcasts } from "@/lib/releases/formats/signed-appcast";
import { Release } from "@/lib/releases/schema";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { newSigningKey, signAppcast } from "@/tests/support/releases/signing";
import { acceptFeed } from "@/tests/support/releases/sparkle-client";

const key = newSigningKey();
const ED_SIGNATURE = key.ed(Buffer.from("archive"));

type Fields = Record<string, string>;

function item(build: string, elements: Fields = {}, attributes: Fields = {}): string {
  const own = { url: "https://updates.example.com/a.zip", length: "10", "sparkle:edSignature": ED_SIGNATURE };
  const enclosure = Object.entries({ ...own, ...attributes }).map(([name, value]) => `${name}="${value}"`);
  const children = Object.entries(elements).map(([name, value]) => `<sparkle:${name}>${value}</sparkle:${name}>`);
  return `<item><sparkle:version>${build}</sparkle:version>${children.join("")}<enclosure ${enclosure.join(" ")}/></item>`;
}

const unsigned = (...items: string[]) =>
  `<?xml version="1.0"?>\n<rss xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle"><channel><title>Ärger &amp; \u{1f680}</title>${items.join("")}</channel></rss>\n`;
const appcast = (...items: string[]) => signAppcast(unsigned(...items), key);

const releaseOf = (version: string, change: object = {}) =>
  Release.parse(
    manifestEntry({
      platform: "macos",
      architecture: "universal",
      version,
      artifacts: { update: remoteArtifact({ fileName: "a.zip", edSignature: ED_SIGNATURE }) },
      ...change,
    }),
  );
const problemOf = (document: string, keys: object = { ed: key.edKey }) =>
  appcastProblem(document, releaseOf("2.0.0"), keys);

describe("a signed appcast", () => {
  test("is verified by any of the product's keys", () => {
    const document = appcast(item("2.0.0", { bundleIdentifier: "com.example.acme" }), item("1.0.0"));
    expect(problemOf(document)).toBeUndefined();
    expect(problemOf(document, { ed: [newSigningKey().edKey, key.edKey] })).toBeUndefined();
    expect(problemOf(document, { ed: newSigningKey().edKey })).toMatch("does not match");
    expect(problemOf(document, {})).toMatch("--ed-key");
  });

  test("with any byte changed is refused, and by Sparkle if it is signed", () => {
    const document = Buffer.from(appcast(item("2.0.0")));
    const app = { edKey: key.edKey, build: "1" };
    expect(acceptFeed(document, app)).not.toBeNull();
    for (const at of document.keys()) {
      const changed = Buffer.from(document);
      changed[at] = (document[at] ?? 0) ^ 1;
      expect(problemOf(changed.toString()), `byte ${at}`).toBeDefined();
      if (at < document.indexOf("<!-- sparkle-signatures")) expect(acceptFeed(changed, app), `byte ${at}`).toBeNull();
    }
  });

  test("with any byte changed in the catalog is not served after a restart", async () => {
    const document = appcast(item("2.0.0"));
    const update = remoteArtifact({ fileName: "a.zip", edSignature: ED_SIGNATURE });
    const fields = { platform: "macos", architecture: "universal", version: "2.0.0", artifacts: { update } };
    const publicKeys = { core: { ed: key.edKey } };
    const releases = [manifestEntry({ ...fields, signedDocuments: { sparkle: document } })];
    const manifest = Buffer.from(JSON.stringify({ schemaVersion: 1, publicKeys, releases }));
    const load = async (bytes: Uint8Array) => {
      const snapshot = await loadSnapshot({ bytes, root: null }, { canPresign: false }, pino({ level: "silent" }));
      return snapshot.releases[0]?.signedDocuments.sparkle;
    };
    expect(await load(manifest)).toBe(document);
    const written = Buffer.from(JSON.stringify(document));
    const start = manifest.indexOf(written);
    for (let at = start + 1; at < start + written.length - 1; at++) {
      const damaged = Buffer.from(manifest);
      damaged[at] = (manifest[at] ?? 0) ^ 1;
      const served = await load(damaged).catch(() => "rejected");
      expect([null, "rejected"], `byte ${at}`).toContain(served);
    }
  });

  test.each([
    ["nothing", ""],
    ["no signature", unsigned(item("2.0.0"))],
    ["text after the signature", `${appcast(item("2.0.0"))}\n<!-- more -->`],
    ["two line ends", `${appcast(item("2.0.0"))}\n`],
    ["an earlier signature alone", `${appcast(item("2.0.0"))}<!-- sparkle-signatures:\n-->\n`],
    ["Windows' line ends", appcast(item("2.0.0")).replaceAll("\n", "\r\n")],
    ["no appcast", signAppcast("hello\n", key)],
    ["another version", appcast(item("1.0.0"))],
    ["a newer version", appcast(item("2.0.0"), item("2.1"))],
    ["a version without numbers", appcast(item("2.0.0"), item("next"))],
    ["another file", appcast(item("2.0.0", {}, { "sparkle:edSignature": newSigningKey().ed(Buffer.from("x")) }))],
    ["another length", appcast(item("2.0.0", {}, { length: "11" }))],
    ["a file for Windows", appcast(item("2.0.0", {}, { "sparkle:os": "windows" }))],
    ["a length of NaN", appcast(item("2.0.0", {}, { length: "many" }))],
    ["too many items", appcast(item("2.0.0"), ...Array.from({ length: 2_000 }, () => item("1.0.0")))],
    ["a version without end", appcast(item("2.0.0"), item("1.".repeat(100_000)))],
    ["elements in elements", signAppcast("<rss>".repeat(100_000), key)],
    ["entities in entities", signAppcast(`<!DOCTYPE r [<!ENTITY a "b">]>${unsigned(item("&a;"))}`, key)],
  ])("with %s is refused", (_, document) => {
    expect(problemOf(document)).toBeDefined();
  });
});

describe("an appcast with an older version that is not for everybody", () => {
  const withheld = (older: string, state: object) => {
    const releases = [
      releaseOf("2.0.0", {
        signedDocuments: { sparkle: appcast(item("2.0.0", { minimumSystemVersion: "13" }), older) },
      }),
      releaseOf("1.0.0", state),
    ];
    return [...withheldAppcasts(releases).values()];
  };

  test.each([
    ["yanked", { yanked: true }],
    ["paused", { rollout: 0 }],
    ["partly rolled out", { rollout: 10 }],
    ["on another channel", { channel: "beta" }],
    ["without files that are served", { artifacts: {} }],
    ["for another architecture", { platform: "macos", architecture: "x64", yanked: true }],
  ])("%s is withheld", (_, state) => {
    expect(withheld(item("1.0.0"), state)).toEqual(["1.0.0"]);
  });

  test("is served if every client gets the newer one, or if the catalog does not know the older one", () => {
    const yanked = { yanked: true };
    expect(withheld(item("1.0.0", { minimumSystemVersion: "13" }), yanked)).toEqual([]);
    expect(withheld(item("0.9.0"), yanked)).toEqual([]);
    expect(withheld(item("1.0.0"), {})).toEqual([]);
  });
});
