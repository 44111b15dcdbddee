import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { callReleases } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { getFeed } from "@/tests/support/releases/feeds";
import { manifestFile } from "@/tests/support/releases/rollouts";
import { newSigningKey, type SigningKey, signAppcast } from "@/tests/support/releases/signing";
import { acceptFeed, checkForUpdate, getAppcastFeed, type SparkleApp } from "@/tests/support/releases/sparkle-client";
import { uploadFile } from "@/tests/support/releases/uploads";

const [key, otherKey] = [newSigningKey(), newSigningKey()];
const TARGET = { product: "core", platform: "macos", architecture: "universal" };
const FOLDER = "https://updates.example.com/api/updates/core/stable";

isolateDataFolder();
let token: CreatedKey;
beforeEach(async () => {
  await ctx().db.rolloutSchedule.deleteMany();
  token = await newKey();
});

type Build = { build: string; requires?: string; bundle?: string; url?: string; by?: SigningKey };

const archiveOf = (build: string) => Buffer.from(`archive of ${build}`);

function appcast(builds: Build[], signedBy: SigningKey = key): string {
  const items = builds.map(({ build, requires = "", bundle = "", url, by = signedBy }) => {
    const signature = by.ed(archiveOf(build));
    const at = url ?? `${FOLDER}/${build}.0.0/macos-universal/Acme%20${build}.zip`;
    return `<item><title>${build}</title><sparkle:version>${build}</sparkle:version><sparkle:shortVersionString>${build}.0.0</sparkle:shortVersionString>${requires}${bundle}<enclosure url="${at}" length="${archiveOf(build).length}" sparkle:edSignature="${signature}"/></item>`;
  });
  return signAppcast(
    `<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle"><channel><title>Acme é</title>${items.join("\n")}</channel></rss>\n`,
    signedBy,
  );
}

type Draft = { release?: object; confirmations?: object; publicKeys?: object; by?: SigningKey };

/** Publishes a build with a signed appcast; without `document`, unsigned. */
async function publish(build: string, document?: string, { release, by = key, ...change }: Draft = {}) {
  const bytes = archiveOf(build);
  const { id } = await uploadFile(token, bytes, `Acme ${build}.zip`);
  const signedDocuments = document === undefined ? {} : { sparkle: document };
  const fields = { ...TARGET, version: `${build}.0.0`, buildVersion: build, signedDocuments, ...release };
  const files = [{ uploadId: id, kinds: ["update"], artifact: { edSignature: by.ed(bytes) } }];
  const publicKeys = { ed: key.edKey };
  return callReleases("POST", "", token.key, { releases: [{ release: fields, files, publicKeys, ...change }] });
}

/** What a list says of a version, and the release itself, without the text of the appcast. */
async function factsOf(version: string) {
  const { releases } = await callReleases("GET", `?version=${version}`, token.key);
  const [{ signedDocuments, withheldFrom }] = releases as [{ signedDocuments: object; withheldFrom?: string[] }];
  expect(await callReleases("GET", `/core-macos-universal-${version}`, token.key)).toMatchObject({ signedDocuments });
  return { signedDocuments, withheldFrom };
}

const signedBy = (document: string) => ({ sparkle: { sha256: createHash("sha256").update(document).digest("hex") } });

const change = (version: string, fields: object) =>
  callReleases("PATCH", "", token.key, { filter: { product: "core", version }, change: fields });

const app = (build: string, fields: Partial<SparkleApp> = {}): SparkleApp => ({ edKey: key.edKey, build, ...fields });

describe("the signed appcast of the newest release for a client", () => {
  test("is served unchanged, and Sparkle updates by it with and without SURequireSignedFeed", async () => {
    const document = appcast([
      { build: "2", bundle: "<sparkle:bundleIdentifier>com.example</sparkle:bundleIdentifier>" },
    ]);
    await publish("1", appcast([{ build: "1" }]));
    expect(await publish("2", document)).toMatchObject({ status: 201, notes: [] });
    expect((await getAppcastFeed(app("1"))).toString()).toBe(document);
    const { platform, product, architecture } = TARGET;
    const query = new URLSearchParams({ platform, product, architecture }).toString();
    expect(await (await getFeed("sparkle", query)).text()).toBe(document);
    expect(await checkForUpdate(app("1"))).toBe("2");
    expect(await checkForUpdate(app("1", { requiresSignedFeed: false }))).toBe("2");
    expect(await checkForUpdate(app("2"))).toBe("up to date");
    expect(await checkForUpdate(app("1", { edKey: otherKey.edKey }))).toBe("feed refused");
    expect(await checkForUpdate(app("1", { edKey: otherKey.edKey, requiresSignedFeed: false }))).toBe(
      "archive refused",
    );
  });

  test("follows a rollout, a pause, a yank and a rollback", async () => {
    await publish("1", appcast([{ build: "1" }]));
    await publish("2", appcast([{ build: "2" }, { build: "1" }]), { release: { rollout: 10 } });
    const offers = async () => {
      const found = await Promise.all(
        Array.from({ length: 100 }, (_, i) => checkForUpdate(app("1", { clientId: `client${i}` }))),
      );
      expect(new Set(found)).toEqual(new Set(found.includes("2") ? ["2", "up to date"] : ["up to date"]));
      return found.filter((one) => one === "2").length;
    };
    const tenPercent = await offers();
    expect(tenPercent).toBeGreaterThan(0);
    expect(tenPercent).toBeLessThan(30);
    await change("2.0.0", { rollout: 0 });
    expect(await offers()).toBe(0);
    await change("2.0.0", { rollout: 100 });
    expect(await checkForUpdate(app("1"))).toBe("2");
    await change("2.0.0", { yanked: true });
    expect(await checkForUpdate(app("1"))).toBe("up to date");
    expect(await checkForUpdate(app("0"))).toBe("1");
    await change("2.0.0", { yanked: false });
    const back = { filter: { product: "core", version: "1.0.0" } };
    expect(await callReleases("POST", "/rollbacks", token.key, back)).toMatchObject({ status: 200, notes: [] });
    expect(await checkForUpdate(app("0"))).toBe("1");
    expect(await checkForUpdate(app("2"))).toBe("up to date"); // Sparkle never downgrades
  });

  test("is not there after a rollback to a release without one, which the rollback says", async () => {
    await publish("1");
    await publish("2", appcast([{ build: "2" }]));
    const back = { filter: { product: "core", version: "1.0.0" } };
    const notes = [expect.stringMatching(/^core-macos-universal-1\.0\.0 has no signed document for Sparkle/)];
    expect(await callReleases("POST", "/rollbacks", token.key, back)).toMatchObject({ status: 200, notes });
    expect(await checkForUpdate(app("0"))).toBe("feed refused");
    expect(await checkForUpdate(app("0", { requiresSignedFeed: false }))).toBe("1");
  });

  test("goes along when the build is promoted", async () => {
    await publish("1", appcast([{ build: "1" }]));
    const url = `${FOLDER}/2.0.0/macos-universal/Acme%202.zip`.replace("stable", "beta");
    await publish("2", appcast([{ build: "2", url }]), { release: { channel: "beta" } });
    expect(await checkForUpdate(app("1"))).toBe("up to date");
    const promotion = { filter: { product: "core", version: "2.0.0" }, from: "beta", to: "stable" };
    expect(await callReleases("POST", "/promotions", token.key, promotion)).toMatchObject({ status: 200 });
    expect(await checkForUpdate(app("1"))).toBe("2");
    const removed = await callReleases("DELETE", "/core-macos-universal-2.0.0?force=true", token.key);
    expect(removed).toMatchObject({ releases: ["core-macos-universal-2.0.0"] });
    expect(await checkForUpdate(app("1"))).toBe("2");
  });

  test("leads clients over a release with the new key during a rotation", async () => {
    await publish("1", appcast([{ build: "1" }]));
    await publish("2", appcast([{ build: "2" }])); // has the new key, and is signed with the old one
    const [both, next] = [[key.edKey, otherKey.edKey], appcast([{ build: "3" }], otherKey)];
    const rotated = { by: otherKey, release: { requiresFrom: "2.0.0" }, publicKeys: { ed: both } };
    expect(await publish("3", next, rotated)).toMatchObject({ code: "confirmation_required" });
    expect(await publish("3", next, { ...rotated, confirmations: { isNew: true } })).toMatchObject({ status: 201 });
    expect(await checkForUpdate(app("1"))).toBe("2");
    expect(await checkForUpdate(app("2", { edKey: otherKey.edKey }))).toBe("3");
  });

  test("is not served after another version in it is withdrawn", async () => {
    const older = { build: "1", requires: "" };
    await publish("1", appcast([older]));
    const requires = "<sparkle:minimumSystemVersion>14.0</sparkle:minimumSystemVersion>";
    const document = appcast([{ build: "2", requires }, older]);
    await publish("2", document);
    expect(await factsOf("2.0.0")).toEqual({ signedDocuments: signedBy(document), withheldFrom: undefined });
    const withdrawn = await change("1.0.0", { yanked: true });
    expect(withdrawn.notes).toEqual([expect.stringMatching(/^core-macos-universal-2.0.0 is not offered .* 1\.0\.0/)]);
    expect(await checkForUpdate(app("1"))).toBe("no feed: 404");
    expect(await factsOf("2.0.0")).toMatchObject({ withheldFrom: ["sparkle"] });
    expect(await factsOf("1.0.0")).toMatchObject({ withheldFrom: undefined }); // nobody is offered it
    expect(await publish("2", appcast([{ build: "2", requires }]))).toMatchObject({ status: 201 });
    expect(await checkForUpdate(app("1"))).toBe("2");
  });

  test("is not served once it is damaged on the disk, and neither is an unsigned one", async () => {
    await publish("1", appcast([{ build: "1" }]));
    await publish("2", appcast([{ build: "2" }]));
    const text = await readFile(manifestFile(), "utf8");
    await writeFile(manifestFile(), text.replace("<title>2</title>", "<title>3</title>"));
    await ctx().catalog.refresh();
    expect(await checkForUpdate(app("0"))).toBe("1");
    expect(await factsOf("2.0.0")).toMatchObject({ withheldFrom: ["sparkle"] });
    expect(acceptFeed(await getAppcastFeed(app("0")), app("0"))).not.toBeNull();
    await writeFile(manifestFile(), text);
    await ctx().catalog.refresh();
    expect(await checkForUpdate(app("0"))).toBe("2");
  });
});

describe("an appcast is refused", () => {
  test.each([
    ["if it is not signed", { document: "<rss/>" }, "signature_invalid", "--ed-key|does not end with a signature"],
    [
      "if another key signed it",
      { document: appcast([{ build: "2" }], otherKey) },
      "signature_invalid",
      "does not match",
    ],
    ["for another version", { document: appcast([{ build: "1" }]) }, "signature_invalid", "does not offer 2.0.0"],
    [
      "with a URL that does not lead to the file",
      { document: appcast([{ build: "2", url: `${FOLDER}/2.0.0/macos-universal/Acme.zip` }]) },
      "release_invalid",
      "homeport release urls",
    ],
    ["with a URL that is none", { document: appcast([{ build: "2", url: "%" }]) }, "release_invalid", "does not lead"],
    [
      "for another app",
      { document: appcast([{ build: "2", bundle: "<sparkle:bundleIdentifier>com.other</sparkle:bundleIdentifier>" }]) },
      "confirmation_required",
      "com.other",
    ],
    ["if it is missing", {}, "release_invalid", "--unsigned"],
    [
      "for Windows",
      { document: appcast([{ build: "2" }]), release: { platform: "windows" } },
      "release_invalid",
      "windows",
    ],
  ] as const)("%s", async (_, { document, ...draft }: { document?: string } & Draft, code, detail) => {
    const bundle = "<sparkle:bundleIdentifier>com.example</sparkle:bundleIdentifier>";
    await publish("1", appcast([{ build: "1", bundle }]));
    const refused = await publish("2", document, draft);
    expect(refused).toMatchObject({ code, detail: expect.stringMatching(detail) });
    expect(await checkForUpdate(app("0"))).toBe("1");
  });

  test("with another version that not every client may get", async () => {
    await publish("1", appcast([{ build: "1" }]), { release: { rollout: 20 } });
    const requires = "<sparkle:minimumSystemVersion>14.0</sparkle:minimumSystemVersion>";
    const document = appcast([{ build: "2", requires }, { build: "1" }]);
    expect(await publish("2", document)).toMatchObject({
      code: "release_invalid",
      detail: expect.stringMatching("1.0.0"),
    });
  });

  test("if it comes late, after an installer that Sparkle does not read", async () => {
    await publish("1", appcast([{ build: "1" }]));
    const { id } = await uploadFile(token, archiveOf("dmg"), "Acme 2.dmg");
    const release = { ...TARGET, version: "2.0.0", buildVersion: "2" };
    const installer = { release, files: [{ uploadId: id, kinds: ["installer"] }] };
    expect(await callReleases("POST", "", token.key, { releases: [installer] })).toMatchObject({ status: 201 });
    expect(await publish("2")).toMatchObject({ code: "release_invalid", detail: expect.stringMatching("--unsigned") });
    expect(await publish("2", appcast([{ build: "2" }]))).toMatchObject({ status: 201 });
    expect(await checkForUpdate(app("1"))).toBe("2");
  });

  test("unless a step back to unsigned feeds is confirmed", async () => {
    await publish("1", appcast([{ build: "1" }]));
    expect(await publish("2", undefined, { confirmations: { isUnsigned: true } })).toMatchObject({ status: 201 });
    expect(await checkForUpdate(app("1"))).toBe("feed refused");
    expect(await checkForUpdate(app("1", { requiresSignedFeed: false }))).toBe("2");
  });

  test("by a change of the build version that it names", async () => {
    await publish("1", appcast([{ build: "1" }]));
    expect(await change("1.0.0", { buildVersion: "7" })).toMatchObject({ code: "release_invalid" });
  });
});

test("the URL of a file is known before it is published", async () => {
  const query = new URLSearchParams({ ...TARGET, version: "2.0.0", fileName: "Acme 2.zip" }).toString();
  const found = await callReleases("GET", `/file-url?${query}`, token.key);
  expect(found).toMatchObject({
    status: 200,
    url: `${ctx().config.baseUrl}/api/updates/core/stable/2.0.0/macos-universal/Acme%202.zip`,
  });
  expect(await callReleases("GET", `/file-url?${query.replace("2.0.0", "two")}`, token.key)).toMatchObject({
    code: "release_invalid",
  });
});
