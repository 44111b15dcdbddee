import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import type { AnyDeclaration } from "@/lib/operation";
import type { ReleaseAccess } from "@/lib/principal";
import { exceedsShare } from "@/lib/releases/access";
import { limitGrowth, type ManifestEntry } from "@/lib/releases/publishing/manifest-file";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { newPublisherJob } from "@/tests/support/auth/publishers";
import { clock, ctx, withContext } from "@/tests/support/context";
import { callReleases, publishVersion } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { newSigningKey } from "@/tests/support/releases/signing";
import { createUpload, offsetOf, sendPart, type TestUpload, tus, uploadFile } from "@/tests/support/releases/uploads";

// Without a type argument: Vitest must see the call as it is, to compile this file anew when a file is added.
const modules = import.meta.glob("/lib/**/operations.ts", { eager: true }) as Record<
  string,
  Record<string, Record<string, AnyDeclaration & { id: string }>>
>;
const forReleases = Object.values(modules)
  .flatMap((exported) => Object.values(exported).flatMap(Object.values))
  .filter(({ scope }) => scope?.startsWith("releases:"));

isolateDataFolder();

/** Another product, with a release, a schedule and an upload that has not ended, and a key of the product core alone. */
let all: CreatedKey;
let key: CreatedKey;
let id: string;
let rolloutId: string;
let upload: TestUpload;

beforeEach(async () => {
  [all, key] = [await newKey(), await newKey({ products: ["core"] })];
  await publishVersion(all, "1.0.0");
  await publishVersion(all, "1.0.0", { product: "ops" });
  id = await publishVersion(all, "1.1.0", { product: "ops" });
  const plan = { filter: { ids: [id] }, steps: [5, 100], everySeconds: 3600 };
  rolloutId = (await callReleases("POST", "/rollouts", all.key, plan)).id;
  upload = await createUpload(all, 100);
  const counted = { day: new Date("2026-11-28"), platform: "windows", architecture: "x64", channel: "stable" };
  const counts = { checks: 7, offers: 0, downloadsStarted: 0, downloadsFinished: 0 };
  await ctx().db.adoptionCount.deleteMany();
  await ctx().db.adoptionCount.create({ data: { ...counted, ...counts, product: "ops", version: "1.1.0" } });
});

const ofOps = { product: "ops", version: "1.1.0" };
const draft = async (release: object) => ({
  releases: [
    {
      release: { product: "ops", platform: "windows", architecture: "x64", version: "6.6.6", ...release },
      files: [{ uploadId: (await uploadFile(key)).id, kinds: ["installer"] }],
      confirmations: { isNew: true },
    },
  ],
});
const api = (method: string, url: string, json?: unknown) =>
  call(method, `/api/admin/releases${url}`, { token: key.key, json });
const own = () => ({ ...upload, key: key.key });

/** With a mirror that lacks the files of both products. */
async function withMirror(attempt: () => Promise<Response>): Promise<Response> {
  const folder = path.join(ctx().config.DATA_DIR, "mirror");
  await mkdir(folder, { recursive: true });
  const failed = { holder: randomUUID(), leaseUntil: clock.now(), error: "ops/stable/latest.yml: no space left" };
  await ctx().db.releaseMirror.upsert({
    where: { location: folder },
    create: { location: folder, ...failed },
    update: failed,
  });
  return withContext({ config: { RELEASE_MIRROR: folder } }, attempt);
}

/** What each operation is asked of the other product, and its status. */
const ATTEMPTS: Record<string, [status: number, attempt: () => Promise<Response>]> = {
  listReleases: [200, () => api("GET", "?product=ops")],
  publishReleases: [403, async () => api("POST", "", await draft({}))],
  changeReleases: [404, () => api("PATCH", "", { filter: ofOps, change: { yanked: true } })],
  getRelease: [404, () => api("GET", `/${id}`)],
  changeRelease: [404, () => api("PATCH", `/${id}`, { notes: "Hello" })],
  removeRelease: [404, () => api("DELETE", `/${id}?force=true`)],
  listReleasePolicies: [200, () => api("GET", "/policies")],
  getAdoption: [200, () => api("GET", "/adoption?days=92")],
  previewReleases: [404, () => api("POST", "/previews", { kind: "rollout", rolloutId, state: "completed" })],
  promoteReleases: [404, () => api("POST", "/promotions", { filter: ofOps, from: "stable", to: "beta" })],
  pruneReleases: [200, () => api("POST", "/prune", { keep: 0, isDryRun: false })],
  removeReleases: [404, () => api("POST", "/removals", { filter: { ids: [id] }, isForced: true, isDryRun: false })],
  rollBackReleases: [404, () => api("POST", "/rollbacks", { filter: { product: "ops", version: "1.0.0" } })],
  verifyRelease: [404, () => api("POST", "/verifications", { releaseId: id })],
  listRollouts: [200, () => api("GET", "/rollouts")],
  scheduleRollout: [404, () => api("POST", "/rollouts", { filter: { ids: [id] }, steps: [100], everySeconds: 60 })],
  getRollout: [404, () => api("GET", `/rollouts/${rolloutId}`)],
  changeRollout: [404, () => api("PATCH", `/rollouts/${rolloutId}`, { state: "completed" })],
  getReleaseMirror: [200, () => withMirror(() => api("GET", "/mirror"))],
  verifyReleaseMirror: [200, () => withMirror(() => api("POST", "/mirror/verifications", {}))],
  readUpload: [404, () => tus("GET", own())],
  appendToUpload: [404, () => sendPart(own(), 0, new Uint8Array(10))],
  removeUpload: [404, () => tus("DELETE", own())],
};
/** An upload belongs to no product before it is published, and the URL of a file says nothing about the catalog. */
const HARMLESS = ["createUpload", "getFileUrl"];

const stateOfOps = async () => ({
  releases: await callReleases("GET", "?product=ops", all.key),
  rollouts: await callReleases("GET", "/rollouts", all.key),
  offset: await offsetOf(upload),
});

describe("a key of one product", () => {
  test("is asked for another product by every operation on releases", () => {
    const ids = forReleases.map(({ id }) => id).sort();
    expect([...Object.keys(ATTEMPTS), ...HARMLESS].sort()).toEqual(ids);
  });

  test.each(Object.keys(ATTEMPTS))("neither reads nor changes another by %s", async (name) => {
    const [status, attempt] = ATTEMPTS[name] as (typeof ATTEMPTS)[string];
    const stray = path.join(ctx().config.DATA_DIR, "releases", path.dirname(await storedFile()), "stray.exe");
    await writeFile(stray, "of nobody");
    const before = await stateOfOps();
    const response = await attempt();
    const text = await response.text();
    expect([response.status, text]).toEqual([status, expect.any(String)]);
    if (status === 200) expect(text).not.toMatch(/ops|stray/);
    expect(await stateOfOps()).toEqual(before);
  });

  test.each([
    [
      "changes by version without a product",
      () => api("PATCH", "", { filter: { ids: ["1.0.0"] }, change: { critical: true } }),
    ],
    [
      "previews a change",
      () => api("POST", "/previews", { kind: "change", filter: { ids: ["1.0.0"] }, change: { yanked: true } }),
    ],
    [
      "promotes",
      () =>
        api("POST", "/promotions", {
          filter: { ids: ["1.0.0"] },
          from: "stable",
          to: "beta",
          confirmations: { isNew: true },
        }),
    ],
    ["prunes", () => api("POST", "/prune", { keep: 0, isDryRun: true })],
    ["lists", () => api("GET", "")],
  ])("%s, of its own releases alone", async (_, attempt) => {
    const before = await stateOfOps();
    const response = await attempt();
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain("ops");
    expect(await stateOfOps()).toEqual(before);
  });

  test.each([{ product: "OPS" }, { product: ["ops"] }, { product: "ops " }, { product: undefined }])(
    "publishes nothing as %j",
    async (release) => {
      const { status, code } = (await (await api("POST", "", await draft(release))).json()) as ReturnType<
        typeof Object
      >;
      expect([status, code]).toEqual([403, "forbidden"]);
    },
  );

  test("publishes its product", async () => {
    const id = await publishVersion(key, "1.2.0");
    expect(await callReleases("GET", `/${id}`, key.key)).toMatchObject({ status: 200, product: "core" });
  });

  test("leaves the ids of another product's releases to it", async () => {
    for (const [version, id] of [
      ["1.2.0", "ops-windows-x64-1.2.0"],
      ["1.3.0", "ops-windows-x64-1.2.0-stable"],
    ]) {
      expect(await publishVersion(key, version as string, { id })).toBe(id);
    }
    expect(await publishVersion(all, "1.2.0", { product: "ops" })).toBe("ops-windows-x64-1.2.0-stable-2");
  });

  test("leaves uploads to others", async () => {
    await Promise.all(Array.from({ length: 100 }, () => createUpload(key, 1)));
    await expect(createUpload(key, 1)).rejects.toThrow("upload_limit_reached");
    await createUpload(await newKey({ products: ["ops"] }), 1);
  });

  test("takes no more than half of the catalog, and can always shrink what it has", () => {
    const entry = (product: string, mebibytes: number) => ({ product, notes: "x".repeat(mebibytes * 2 ** 20) });
    const grow = (before: ManifestEntry[], after: ManifestEntry[], releaseAccess?: ReleaseAccess) =>
      limitGrowth(releaseAccess ? { releaseAccess } : {}, (manifest) => ({ ...manifest, entries: after }))({
        publicKeys: {},
        releases: [],
        entries: before,
      });
    const core = { products: ["core"], channel: null };
    const ops = entry("ops", 20);
    expect(grow([ops], [ops, entry("core", 31)], core).entries).toHaveLength(2);
    expect(() => grow([ops], [ops, entry("core", 32)], core)).toThrow("would fill the catalog");
    expect(grow([ops, entry("core", 40)], [ops, entry("core", 39)], core).entries).toHaveLength(2);
    expect(grow([ops], [ops, entry("core", 32)]).entries).toHaveLength(2);
  });

  test("takes no more than its share of a disk on which little is left", async () => {
    const releases = (await ctx().catalog.current()?.releases) ?? [];
    const limits = { products: ["core"], channel: null };
    const isRefused = (freeBytes: number, sizeBytes: number, products = limits) =>
      exceedsShare(products, releases, { freeBytes, uploads: [{ sizeBytes, offsetBytes: 0 }] });
    // Three files of 200 bytes are stored, of two products.
    expect([isRefused(1000, 500), isRefused(1000, 600), isRefused(1000, 601)]).toEqual([false, false, true]);
    expect(isRefused(100, 50, { products: ["new"], channel: null })).toBe(false);
    expect(isRefused(1000, 1000, { products: ["core", "ops"], channel: null })).toBe(false);
  });
});

describe("a publisher of one channel", async () => {
  const issuer = await CiIssuer.start("github", clock.now);
  afterAll(() => issuer.close());

  test("neither reads nor changes what is on another", async () => {
    const beta = await publishVersion(all, "2.0.0", { channel: "beta" });
    const everywhere = { filter: { product: "core", version: "2.0.0" }, steps: [100], everySeconds: 3600 };
    const { id: schedule } = await callReleases("POST", "/rollouts", all.key, everywhere);
    await ctx().db.publisher.deleteMany();
    const { key: token } = await newPublisherJob(issuer, { channel: "stable" });
    const before = await callReleases("GET", "", all.key);
    const attempts = [
      callReleases("GET", `/${beta}`, token),
      callReleases("PATCH", `/${beta}`, token, { yanked: true }),
      callReleases("PATCH", "", token, { filter: { product: "core", version: "2.0.0" }, change: { rollout: 50 } }),
      callReleases("PATCH", `/rollouts/${schedule}`, token, { state: "halted" }),
      callReleases("POST", "/promotions", token, { filter: { ids: [beta] }, from: "beta", to: "stable" }),
      callReleases("POST", "/promotions", token, { filter: { ids: ["1.0.0"] }, from: "stable", to: "beta" }),
    ];
    expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 403]);
    await expect(publishVersion({ key: token }, "2.1.0", { channel: "beta" })).rejects.toThrow("on the channel beta");
    expect(await callReleases("GET", "", all.key)).toEqual(before);
    const policy = { product: "core", requirements: [], approvals: 1, publicKeys: [], since: clock.now() };
    await ctx().db.releasePolicy.create({ data: policy });
    await ctx().policies.refresh();
    expect(await callReleases("GET", "/policies", token)).toMatchObject({
      policies: [{ refused: ["core-windows-x64-1.0.0"] }],
    });
    await ctx().db.releasePolicy.deleteMany();
    await ctx().policies.refresh();
    const upload = await uploadFile({ key: token });
    const drafts = await draft({ product: "core", version: "1.1.0" });
    const withKey = { ...drafts.releases[0], files: [{ uploadId: upload.id, kinds: ["installer"] }] };
    const publicKeys = { ed: newSigningKey().edKey };
    const json = { releases: [{ ...withKey, publicKeys }] };
    expect(await callReleases("POST", "", token, json)).toMatchObject({ status: 403, code: "forbidden" });
    expect(await publishVersion({ key: token }, "1.1.0")).toBe("core-windows-x64-1.1.0");
  });
});

async function storedFile(): Promise<string> {
  const release = (await callReleases("GET", `/${id}`, all.key)) as unknown as {
    artifacts: { installer: { file: string } };
  };
  return release.artifacts.installer.file;
}
