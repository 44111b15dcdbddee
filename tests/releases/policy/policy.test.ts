import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { SemVer } from "semver";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createKey } from "@/lib/auth/api-keys/keys";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { addPublisher } from "@/lib/auth/publishers/publishers";
import { NewPublisher } from "@/lib/auth/publishers/schema";
import type { PrismaClient } from "@/lib/platform/db/generated/client";
import { lockFile } from "@/lib/platform/files/lock";
import type { Operator } from "@/lib/principal";
import { admitExisting } from "@/lib/releases/policy/admissions";
import { openGuardedCatalog } from "@/lib/releases/policy/guarded-catalog";
import { Release } from "@/lib/releases/schema";
import type { TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey, OPERATOR } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { postOAuth } from "@/tests/support/auth/oauth-client";
import { BASE_URL, clock, ctx, databaseAfter, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import {
  callReleases,
  changeRelease,
  draftOf,
  publishDrafts,
  publishVersion,
  type ReleaseDraft,
} from "@/tests/support/releases/admin-api";
import { isolateDataFolder, openForTest, versionsOf } from "@/tests/support/releases/catalogs";
import { manifestEntry } from "@/tests/support/releases/entries";
import { newSigningKey } from "@/tests/support/releases/signing";
import { newManifestKey, signManifest } from "@/tests/support/releases/update-manifest";
import { uploadFile } from "@/tests/support/releases/uploads";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const HOUR_MS = 60 * 60 * 1000;
const OLD = "core-windows-x64-1.0.0";
const NEW = "core-windows-x64-2.0.0";

isolateDataFolder();

let key: CreatedKey;
let admin: TestAccount;

beforeEach(async () => {
  [key, admin] = [await newKey(), await accountWithRole("admin")];
  await publishVersion(key, "1.0.0");
});

afterEach(async () => {
  clock.reset();
  await ctx().db.releasePolicy.deleteMany();
  await ctx().db.releaseAdmission.deleteMany();
  await ctx().db.rolloutSchedule.deleteMany();
  await ctx().db.publisher.deleteMany();
  await removeEndpoints();
});

const catalogFile = () => path.join(ctx().config.DATA_DIR, "releases", "catalog.json");
const mirrors = () =>
  ["release-policies.json", "release-policies.copy.json"].map((name) => path.join(ctx().config.DATA_DIR, name));
const setPolicy = (json: object, { token } = admin) => callReleases("PATCH", "/policies/core", token, json);
const readPolicy = async () => ((await callReleases("GET", "/policies", key.key)).policies as object[])[0];
const approve = (version: string, { token } = admin) =>
  callReleases("POST", "/approvals", token, { filter: { product: "core", version } });
const offered = async () => (await getVersion(WINDOWS)).version;
/** Publishes a version over the API. Returns the body with the status. */
const publish = async (
  version: string,
  draft: Partial<ReleaseDraft> & { publicKeys?: object } = {},
  file: object = {},
) =>
  publishDrafts(key.key, [
    { ...draftOf(version, await uploadFile(key), { ...file }), confirmations: { isNew: true }, ...draft },
  ]);

type Entry = Record<string, unknown> & { artifacts: Record<string, Record<string, unknown>> };

/** Edits the catalog's file by hand, and has it read again. */
async function editCatalog(edit: (releases: Entry[]) => void): Promise<void> {
  const catalog = JSON.parse(await readFile(catalogFile(), "utf8"));
  edit(catalog.releases);
  await writeFile(catalogFile(), JSON.stringify(catalog));
  await ctx().catalog.refresh();
}

/** Starts a second service on the data folder, whose database does not respond. */
async function restartWithoutDatabase() {
  const { config, dbNow, log } = ctx();
  const db = new Proxy(
    {},
    { get: () => ({ findMany: () => Promise.reject(new Error("no database")) }) },
  ) as PrismaClient;
  const opened = await openForTest({ DATA_DIR: config.DATA_DIR, mode: "server" });
  const guarded = await openGuardedCatalog({ catalog: opened, config, db, dbNow, log });
  await guarded.catalog.refresh();
  return guarded.catalog;
}

describe("a product with a policy", () => {
  test("keeps the releases that it had, and offers no file that was put into the catalog by hand", async () => {
    expect(await setPolicy({ requirements: ["publisher"] })).toMatchObject({
      status: 200,
      requirements: ["publisher"],
    });
    const url = "https://attacker.example.com/setup.exe";
    await editCatalog((releases) => {
      const [old] = releases as [Entry];
      const file = { ...old.artifacts.installer, sha256: "a".repeat(64) };
      releases.push({ ...old, id: NEW, version: "2.0.0", artifacts: { installer: file, update: file } });
      releases.push({ ...old, id: "same-bytes", version: "3.0.0" });
      releases.push({ ...old, id: "on-beta", channel: "beta" });
      old.artifacts.others = [{ ...file, fileName: "tool.exe" }] as never;
    });
    expect(await offered()).toBe("1.0.0");
    expect((await getVersion(`${WINDOWS}&channel=beta`)).version).toBe("1.0.0");
    expect(
      ctx()
        .catalog.current()
        ?.releases.find(({ id }) => id === OLD)?.artifacts.others,
    ).toEqual([]);
    expect(await readPolicy()).toMatchObject({ refused: [OLD, NEW, "same-bytes", "on-beta"] });
    await editCatalog(([old]) => {
      delete (old as Entry).artifacts.others;
      const { file: _, ...installer } = (old as Entry).artifacts.installer as { file: string };
      (old as Entry).artifacts = { installer: { ...installer, url } };
    });
    expect((await getVersion(WINDOWS)).status).toBe(404);
  });

  test("admits the releases of a large catalog in time", async () => {
    const release = Release.parse(manifestEntry());
    const releases = Array.from({ length: 12_000 }, (_, i) => ({ ...release, version: new SemVer(`1.0.${i}`) }));
    await ctx().db.$transaction((tx) => admitExisting(tx, ctx().now(), "core", releases));
    expect(await ctx().db.releaseAdmission.count()).toBe(12_000);
  });

  test("offers again what was published as it requires, and another product as before", async () => {
    const signing = newSigningKey();
    await setPolicy({ requirements: ["signature"], publicKeys: { minisign: [signing.minisignKey] } });
    await publishVersion(key, "1.0.0", { product: "ops" });
    const bytes = randomBytes(500);
    const upload = await uploadFile(key, bytes);
    const artifact = { fileName: "setup.exe", minisign: signing.minisign(bytes, "file:setup.exe") };
    const draft = { ...draftOf("2.0.0", upload, { artifact }), publicKeys: { minisign: signing.minisignKey } };
    expect(await publishDrafts(key.key, [draft])).toMatchObject({
      status: 201,
      releases: [{ id: NEW, outcome: "added" }],
    });
    expect([await offered(), (await getVersion(WINDOWS.replace("core", "ops"))).version]).toEqual(["2.0.0", "1.0.0"]);
    expect((await changeRelease("DELETE", NEW, { token: key.key })).status).toBe(409);
    expect((await changeRelease("DELETE", `${NEW}?force=true`, { token: key.key })).status).toBe(200);
    expect(await ctx().db.releaseAdmission.count({ where: { product: "core" } })).toBe(1);
  });

  test.each<[string, object, () => Promise<object>]>([
    ["without a signature", { requirements: ["signature"] }, () => publish("2.0.0")],
    [
      "with the signature of another key, which replaces the product's",
      { requirements: ["signature"] },
      async () => {
        const other = newSigningKey();
        const bytes = randomBytes(500);
        const artifact = { fileName: "setup.exe", edSignature: other.ed(bytes) };
        const draft = {
          ...draftOf("2.0.0", await uploadFile(key, bytes), { artifact }),
          publicKeys: { ed: other.edKey },
        };
        return publishDrafts(key.key, [{ ...draft, confirmations: { isNew: true } }]);
      },
    ],
    [
      "with an installer that is not signed beside a signed update",
      { requirements: ["signature"] },
      async () => {
        const bytes = randomBytes(500);
        const [signed, other] = [await uploadFile(key, bytes, "a.exe"), await uploadFile(key, randomBytes(9), "b.exe")];
        const draft = draftOf("2.0.0", signed, { kinds: ["update"], artifact: { edSignature: trusted.ed(bytes) } });
        draft.files.push({ uploadId: other.id, kinds: ["installer"] });
        return publishDrafts(key.key, [{ ...draft, publicKeys: { ed: trusted.edKey } } as ReleaseDraft]);
      },
    ],
    ["with a key instead of a publisher", { requirements: ["publisher"] }, () => publish("2.0.0")],
    [
      "that is in the catalog already, with a signature that somebody wrote there",
      { requirements: ["signature"] },
      async () => {
        const bytes = randomBytes(500);
        await handWritten(bytes, { edSignature: newSigningKey().ed(bytes) });
        return publishDrafts(key.key, [draftOf("2.0.0", await uploadFile(key, bytes))]);
      },
    ],
    [
      "that is in the catalog already, with an attestation that somebody wrote there",
      { requirements: ["attestation"] },
      async () => {
        const bytes = randomBytes(500);
        await handWritten(bytes, { attestation: { file: "a.sigstore.json", sizeBytes: 9, sha256: "b".repeat(64) } });
        return publishDrafts(key.key, [draftOf("2.0.0", await uploadFile(key, bytes))]);
      },
    ],
    [
      "that it has, with another key for the next ones",
      { requirements: ["signature"] },
      async () => {
        const file = storedFileOf(OLD);
        const upload = await uploadFile(key, await readFile(file), path.basename(file));
        const kinds = ["installer", "update"];
        return publishDrafts(key.key, [
          { ...draftOf("1.0.0", upload, { kinds }), publicKeys: { ed: newSigningKey().edKey } } as ReleaseDraft,
        ]);
      },
    ],
    ["without an attestation", { requirements: ["attestation"] }, () => publish("2.0.0")],
    [
      "with one more file in an old release",
      { requirements: ["publisher"] },
      async () => {
        const { id } = await uploadFile(key, randomBytes(9), "tool.exe");
        return publish("1.0.0", { files: [{ uploadId: id, kinds: ["other"] }] });
      },
    ],
    [
      "by promoting a release from before the policy",
      { requirements: ["publisher"] },
      () => callReleases("POST", "/promotions", key.key, { filter: { ids: [OLD] }, from: "stable", to: "beta" }),
    ],
  ])("refuses a release %s", async (_, policy, attempt) => {
    const publicKeys =
      "requirements" in policy && String(policy.requirements) === "signature" ? { ed: [trusted.edKey] } : undefined;
    expect((await setPolicy({ ...policy, publicKeys })).status).toBe(200);
    expect(await attempt()).toMatchObject({ status: 422, code: "policy_unmet" });
    expect([await offered(), await ctx().db.releaseAdmission.count()]).toEqual(["1.0.0", 1]);
  });

  test("counts electron-builder's signed manifest as the signature of the files that it names, and of no others", async () => {
    const own = newManifestKey();
    expect((await setPolicy({ requirements: ["signature"], publicKeys: { manifest: [own.publicKey] } })).status).toBe(
      200,
    );
    const attempt = async (signedBy = own, named?: Buffer, more: object = {}) => {
      const bytes = randomBytes(500);
      const { sha512 } = digestsOf(named ?? bytes);
      const info = { version: "2.0.0", files: [{ url: "setup.exe", sha512, size: 500 }], ...more };
      const text = signManifest(info, [signedBy]);
      const signedDocuments = { electron: { text, sha256: digestsOf(Buffer.from(text)).sha256 } };
      const draft = draftOf("2.0.0", await uploadFile(key, bytes), { kinds: ["installer", "update"] });
      return publishDrafts(key.key, [{ ...draft, release: { ...draft.release, signedDocuments } }]);
    };
    expect(await attempt(newManifestKey())).toMatchObject({ status: 422 });
    expect(await attempt(own, randomBytes(500))).toMatchObject({ status: 422 });
    const packages = { x64: { path: "https://files.example/app.7z", ...digestsOf(randomBytes(9)) } };
    expect(await attempt(own, undefined, { packages })).toMatchObject({ status: 422, code: "release_invalid" });
    expect(await attempt()).toMatchObject({ status: 201 });
    expect(await offered()).toBe("2.0.0");
  });

  test("counts a publisher that was there before it, and a newer one after a day", async () => {
    const publishEarly = await newPublisher();
    await setPolicy({ requirements: ["publisher"] });
    clock.advance(HOUR_MS);
    const publishLate = await newPublisher();
    expect(await publishEarly("2.0.0")).toMatchObject({ status: 201 });
    expect(await offered()).toBe("2.0.0");
    expect(await publishLate("3.0.0")).toMatchObject({ status: 422, code: "policy_unmet" });
    clock.advance(24 * HOUR_MS);
    expect(await publishLate("3.0.0")).toMatchObject({ status: 201 });
    const promotion = { filter: { ids: ["3.0.0"] }, from: "stable", to: "beta" };
    expect(await callReleases("POST", "/promotions", key.key, promotion)).toMatchObject({ status: 200 });
  });

  test("refuses an upload that began before it, and either offers or refuses what is published at the same time", async () => {
    const upload = await uploadFile(key);
    const [policy, published] = await Promise.all([
      setPolicy({ requirements: ["publisher"] }),
      publishDrafts(key.key, [draftOf("2.0.0", upload)]),
    ]);
    expect(policy.status).toBe(200);
    expect([published.status, await offered()]).toEqual(published.status === 201 ? [201, "2.0.0"] : [422, "1.0.0"]);
    expect(await publish("3.0.0")).toMatchObject({ status: 422, code: "policy_unmet" });
  });

  test("is written to the data folder without what killed processes left there a day ago", async () => {
    const left = mirrors().flatMap((file) => [`${file}.${randomUUID()}.tmp`, `${file}.tmp`]);
    const dayAgo = new Date(Date.now() - 25 * 3_600_000);
    for (const file of left) {
      await writeFile(file, "{");
      await utimes(file, dayAgo, dayAgo);
    }
    await setPolicy({ requirements: ["publisher"] });
    const names = await readdir(ctx().config.DATA_DIR);
    expect(names.filter((name) => name.startsWith("release-policies")).sort()).toEqual([
      "release-policies.copy.json",
      "release-policies.json",
    ]);
  });

  test("is read from the data folder while the database does not respond, of either copy", async () => {
    await setPolicy({ requirements: ["publisher"] });
    await editCatalog((releases) => releases.push({ ...(releases[0] as Entry), id: NEW, version: "2.0.0" }));
    expect(versionsOf(await restartWithoutDatabase())).toEqual(["1.0.0"]);
    const [first = "", second = ""] = mirrors();
    await writeFile(first, '{"schemaVersion":1,"products":{');
    expect(versionsOf(await restartWithoutDatabase())).toEqual(["1.0.0"]);
    await writeFile(second, "");
    expect(versionsOf(await restartWithoutDatabase())).toBeUndefined();
    expect(await offered()).toBe("1.0.0");
  });
});

const trusted = newSigningKey();

/** Writes 2.0.0 with these bytes into the catalog by hand. */
async function handWritten(bytes: Buffer, fields: object): Promise<void> {
  const described = { ...digestsOf(bytes), fileName: "setup.exe", sizeBytes: bytes.length };
  await editCatalog((releases) => {
    const installer = { ...described, file: "setup.exe", ...fields };
    releases.push({ ...(releases[0] as Entry), id: NEW, version: "2.0.0", artifacts: { installer } });
  });
}

const digestsOf = (bytes: Buffer) => ({
  sha256: createHash("sha256").update(bytes).digest("hex"),
  sha512: createHash("sha512").update(bytes).digest("base64"),
});

function storedFileOf(id: string): string {
  const release = ctx()
    .catalog.current()
    ?.releases.find((one) => one.id === id);
  return path.join(ctx().config.DATA_DIR, "releases", release?.artifacts.installer?.file ?? "");
}

/** Adds a publisher of the product core. Returns a function that publishes a version as its CI job. */
async function newPublisher(by: Operator = OPERATOR) {
  const issuer = await CiIssuer.start("github", clock.now);
  onTestFinished(() => issuer.close());
  const publisher = { type: "github", repository: "acme/app", workflow: "release.yml", product: "core" };
  await addPublisher(ctx(), by, NewPublisher.parse({ ...publisher, issuer: issuer.origin }));
  return async (version: string) => {
    const exchanged = await postOAuth("token", {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: issuer.token(BASE_URL),
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    });
    const { access_token } = (await exchanged.json()) as { access_token: string };
    return publishDrafts(access_token, [draftOf(version, await uploadFile({ key: access_token }))]);
  };
}

describe("a change of a policy", () => {
  test("that loosens it applies after a day, is mailed to every admin, and can be taken back until then", async () => {
    const other = await accountWithRole("admin");
    await ctx().db.account.updateMany({ where: { role: "admin" }, data: { emailVerifiedAt: ctx().now() } });
    await setPolicy({ requirements: ["publisher", "attestation"], approvals: 1 });
    const loosened = await setPolicy({ requirements: ["publisher"], approvals: 2 });
    expect(loosened).toMatchObject({
      requirements: ["attestation", "publisher"],
      approvals: 2,
      loosened: { requirements: ["publisher"], approvals: 2 },
    });
    for (const { email } of [admin, other])
      expect(await mailbox.waitFor(email)).toContain("The release policy of core");
    clock.advance(10 * 60 * 1000);
    expect(await setPolicy({ requirements: ["publisher"] })).toMatchObject({ code: "reauthentication_required" });
    await post("/api/auth/reauthenticate", { password: admin.password }, { token: admin.token });
    expect(await setPolicy({ requirements: ["publisher"] })).toMatchObject({ loosened: loosened.loosened });
    expect(await setPolicy({})).toMatchObject({ requirements: ["attestation", "publisher"], loosened: null });
    await setPolicy({ requirements: [], approvals: 0 });
    clock.advance(24 * HOUR_MS - 1000);
    await ctx().policies.refresh();
    expect(await publish("2.0.0")).toMatchObject({ code: "policy_unmet" });
    clock.advance(2000);
    await ctx().policies.refresh();
    expect((await publish("2.0.0")).status).toBe(201);
    expect([await offered(), await readPolicy()]).toEqual(["2.0.0", undefined]);
    const events = await ctx().db.auditEvent.findMany({ where: { target: "product:core", accountId: admin.id } });
    expect(events.map(({ type }) => type)).toEqual(Array(4).fill("release_policy_changed"));
  });

  test("that tightens it withdraws nothing that was offered", async () => {
    await setPolicy({ requirements: ["signature"], approvals: 1, publicKeys: { ed: [trusted.edKey] } });
    const bytes = randomBytes(500);
    const artifact = { fileName: "setup.exe", edSignature: trusted.ed(bytes) };
    const draft = draftOf("2.0.0", await uploadFile(key, bytes), { artifact });
    await publishDrafts(key.key, [{ ...draft, publicKeys: { ed: trusted.edKey } } as ReleaseDraft]);
    expect(await offered()).toBe("1.0.0");
    await setPolicy({ approvals: 0 });
    clock.advance(24 * HOUR_MS + 1000);
    await ctx().policies.refresh();
    expect(await offered()).toBe("2.0.0");
    await post("/api/auth/reauthenticate", { password: admin.password }, { token: admin.token });
    expect(await setPolicy({ approvals: 1 })).toMatchObject({ approvals: 1, pending: [] });
    expect(await offered()).toBe("2.0.0");
  });

  test("is not for keys, support or another key to sign with", async () => {
    const support = await accountWithRole("support");
    for (const token of [key.key, support.token]) {
      expect(await setPolicy({ approvals: 1 }, { ...admin, token })).toMatchObject({ status: 403, code: "forbidden" });
    }
    expect(await setPolicy({ requirements: ["signature"] })).toMatchObject({ status: 422, code: "validation_failed" });
    expect(await callReleases("PATCH", "/policies/No%20product", admin.token, { approvals: 1 })).toMatchObject({
      status: 404,
      code: "not_found",
    });
    const [old, next] = [newSigningKey(), newSigningKey()];
    await setPolicy({ requirements: ["signature"], publicKeys: { ed: [old.edKey] } });
    expect(await setPolicy({ publicKeys: { ed: [next.edKey, old.edKey] } })).toMatchObject({
      publicKeys: [`ed:${old.edKey}`],
      loosened: { publicKeys: [`ed:${old.edKey}`, `ed:${next.edKey}`].sort() },
    });
  });

  test("that no longer requires signatures keeps the keys until then, also when it is taken back", async () => {
    const { edKey } = newSigningKey();
    await setPolicy({ requirements: ["signature"], publicKeys: { ed: [edKey] } });
    const publicKeys = [`ed:${edKey}`];
    expect(await setPolicy({ requirements: [] })).toMatchObject({ publicKeys, loosened: { publicKeys: [] } });
    expect(await setPolicy({ requirements: ["signature"] })).toMatchObject({ publicKeys, loosened: null });
  });
});

describe("a release that needs approvals", () => {
  beforeEach(async () => {
    await setPolicy({ approvals: 1 });
  });

  test("is offered to nobody before another admin than its publisher approves it, and announced then", async () => {
    await newReceiver(["release.published"]);
    const announced = () => ctx().db.webhookEvent.count({ where: { type: "release.published" } });
    const own = await createKey(
      ctx(),
      { actor: "account", accountId: admin.id, source: OPERATOR.source },
      { name: "CI", scopes: ["releases:write"], products: [], networks: [] },
    );
    await publishVersion(own, "2.0.0");
    expect([await offered(), await announced()]).toEqual(["1.0.0", 0]);
    expect(await readPolicy()).toMatchObject({ pending: [{ id: NEW, approvals: 0 }], refused: [] });
    expect(await approve("2.0.0")).toMatchObject({ status: 403, code: "forbidden" });
    expect(await approve("2.0.0", { ...admin, token: own.key })).toMatchObject({ status: 403, code: "forbidden" });
    const other = await accountWithRole("admin");
    expect(await approve("2.0.0", other)).toMatchObject({
      status: 200,
      releases: [{ id: NEW, outcome: "approved", missingApprovals: 0 }],
    });
    expect([await offered(), await announced()]).toEqual(["2.0.0", 1]);
    expect(await approve("2.0.0", other)).toMatchObject({ releases: [{ outcome: "unchanged" }] });
    await ctx().db.apiKey.update({ where: { id: own.id }, data: { createdBy: null } }); // made by version 1.0
    await publishVersion(own, "3.0.0");
    expect(await approve("3.0.0")).toMatchObject({ status: 403, code: "forbidden" });
    expect(versionsOf(await restartWithoutDatabase())).toEqual(["2.0.0", "1.0.0"]);
  });

  test("is approved with the files that the admin has seen, and not with one that is added meanwhile", async () => {
    expect(await publish("2.0.0")).toMatchObject({ status: 201 });
    const seen = (await get(`/api/admin/releases/${NEW}`, admin)).headers.get("etag") ?? "";
    const add = async () => {
      const upload = await uploadFile(key, randomBytes(1_000), "update.exe");
      return publish("2.0.0", draftOf("2.0.0", upload, { kinds: ["update"] }));
    };
    let isLocked = true;
    const db = databaseAfter(async () => {
      const unlock = await lockFile(`${catalogFile()}.lock`).catch(() => null);
      isLocked = unlock === null;
      await unlock?.();
      if (!isLocked) await add();
    });
    const json = { filter: { product: "core", version: "2.0.0" } };
    const headers = { "if-match": seen };
    const approved = await withContext({ db }, () =>
      post("/api/admin/releases/approvals", json, { token: admin.token, headers }),
    );
    expect(approved.status).toBe(isLocked ? 200 : 412);
    if (isLocked) expect(await add()).toMatchObject({ status: 201 });
    expect(await readPolicy()).toMatchObject({ pending: [{ id: NEW, approvals: 0 }] });
  });

  test("needs as many admins as the policy says, each of whom counts once, even at the same time", async () => {
    await setPolicy({ approvals: 2 });
    await publishVersion(key, "2.0.0");
    const twice = await Promise.all([approve("2.0.0"), approve("2.0.0")]);
    expect(twice.map(({ releases }) => releases)).toEqual(
      expect.arrayContaining([[expect.objectContaining({ outcome: "approved", missingApprovals: 1 })]]),
    );
    expect(await offered()).toBe("1.0.0");
    await publishVersion(key, "3.0.0");
    const [second, third] = [await accountWithRole("admin"), await accountWithRole("admin")];
    await Promise.all([approve("3.0.0", second), approve("3.0.0", third)]);
    expect(await offered()).toBe("3.0.0");
  });

  test("is approved by a new admin only a day after another one has made it one", async () => {
    const other = await accountWithRole("user");
    await publishVersion(key, "2.0.0");
    await call("POST", `/api/admin/accounts/${other.id}/grant`, { token: admin.token, json: { role: "admin" } });
    expect(await approve("2.0.0", other)).toMatchObject({ status: 403, detail: expect.stringContaining("24 hours") });
    expect(await offered()).toBe("1.0.0");
    clock.advance(24 * HOUR_MS + 1000);
    await post("/api/auth/reauthenticate", { password: other.password }, { token: other.token });
    expect(await approve("2.0.0", other)).toMatchObject({ releases: [{ outcome: "approved" }] });
  });

  test("of a publisher is approved by whoever added it only a day later, after an email to every admin", async () => {
    const other = await accountWithRole("admin");
    await ctx().db.account.update({ where: { id: other.id }, data: { emailVerifiedAt: ctx().now() } });
    const publishAs = await newPublisher({ ...OPERATOR, actor: `account:${admin.id}`, accountId: admin.id });
    expect(await mailbox.waitFor(other.email)).toContain("acme/app may publish core");
    expect(await publishAs("2.0.0")).toMatchObject({ status: 201 });
    expect(await approve("2.0.0")).toMatchObject({ status: 403, code: "forbidden" });
    clock.advance(24 * HOUR_MS);
    await post("/api/auth/reauthenticate", { password: admin.password }, { token: admin.token });
    expect(await publishAs("3.0.0")).toMatchObject({ status: 201 });
    expect(await approve("2.0.0")).toMatchObject({ status: 403, code: "forbidden" });
    expect(await approve("3.0.0")).toMatchObject({ releases: [{ outcome: "approved", missingApprovals: 0 }] });
  });

  test("is yanked, halted and left out of a rollback at once, and not approved after a yank", async () => {
    await publishVersion(key, "2.0.0");
    const rollback = { filter: { product: "core", version: "2.0.0" } };
    expect(await callReleases("POST", "/rollbacks", key.key, rollback)).toMatchObject({ code: "release_pending" });
    const plan = { ...rollback, steps: [5, 100], everySeconds: 3600 };
    expect(await callReleases("POST", "/rollouts", key.key, plan)).toMatchObject({ code: "release_pending" });
    const promotion = { ...rollback, from: "stable", to: "beta" };
    expect(await callReleases("POST", "/promotions", key.key, promotion)).toMatchObject({ code: "release_pending" });
    expect(await changeRelease("PATCH", NEW, { token: key.key, json: { yanked: true } })).toMatchObject({
      status: 200,
    });
    expect(await approve("2.0.0")).toMatchObject({ status: 409, code: "release_yanked" });
    await changeRelease("PATCH", NEW, { token: key.key, json: { yanked: false } });
    expect(await offered()).toBe("1.0.0");
    await approve("2.0.0");
    expect(await offered()).toBe("2.0.0");
    const back = { filter: { product: "core", version: "1.0.0" } };
    expect(await callReleases("POST", "/rollbacks", key.key, back)).toMatchObject({ status: 200, withdrawn: [NEW] });
    expect(await offered()).toBe("1.0.0");
  });

  test("waits again for what is added to it, and for a stricter policy", async () => {
    await publishVersion(key, "2.0.0");
    await setPolicy({ requirements: ["publisher"] });
    expect(await approve("2.0.0")).toMatchObject({ status: 422, code: "policy_unmet" });
    expect(await offered()).toBe("1.0.0");
  });
});
