import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { addPublisher } from "@/lib/auth/publishers/publishers";
import { NewPublisher } from "@/lib/auth/publishers/schema";
import { type Context, setContext } from "@/lib/context";
import { loadConfig } from "@/lib/platform/config";
import { addReleases } from "@/lib/releases/publishing/add";
import { readCatalog } from "@/scripts/homeport/export/releases";
import { call, get } from "@/tests/support/api";
import { newKey, OPERATOR } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { postOAuth } from "@/tests/support/auth/oauth-client";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { callReleases, draftOf, publishDrafts } from "@/tests/support/releases/admin-api";
import { isolateDataFolder, newFolder as newDataFolder } from "@/tests/support/releases/catalogs";
import { build, newFolder, draftOf as storeDraftOf } from "@/tests/support/releases/publishing";
import {
  BUILD,
  type BuildClaims,
  COMMIT,
  newSigstore,
  readSample,
  SAMPLE_FILE,
} from "@/tests/support/releases/sigstore";
import { storeOf } from "@/tests/support/releases/stores";
import { newOutput, writeElectronUpdate } from "@/tests/support/releases/tools/output";
import { uploadFile } from "@/tests/support/releases/uploads";

const sigstore = await newSigstore();
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const toBytes = (bundle: unknown) => Buffer.from(JSON.stringify(bundle));
const PUBLISHER = { type: "github", repository: "acme/app", workflow: "release.yml" };
const addOf = (product: string, change: object = {}) => {
  const given = "type" in change ? change : { ...PUBLISHER, ...change };
  return addPublisher(ctx(), OPERATOR, NewPublisher.parse({ ...given, product }));
};

isolateDataFolder();
beforeEach(() => {
  const roots: Context["config"]["SIGSTORE_TRUSTED_ROOT"] = [sigstore.trustedRoot];
  setContext({ ...ctx(), config: { ...ctx().config, SIGSTORE_TRUSTED_ROOT: roots } });
});

/** Publishes bytes as 1.4.0 of a product, with an attestation. */
async function publishAttested(
  product: string,
  attestation: Buffer,
  { bytes, key = "", channel = "stable" }: { bytes: Buffer; key?: string; channel?: string },
) {
  const token = key || (await newKey()).key;
  const [file, bundle] = [
    await uploadFile({ key: token }, bytes),
    await uploadFile({ key: token }, attestation, "a.json"),
  ];
  const draft = draftOf("1.4.0", file, { attestationUploadId: bundle.id });
  const release = { ...draft.release, product, channel };
  return publishDrafts(token, [{ ...draft, release, confirmations: { isNew: true } }]);
}

test("an attestation by a publisher of the product is stored, served beside its file, and verified again", async () => {
  const [product, bytes] = [`p-${randomUUID().slice(0, 8)}`, randomBytes(1000)];
  await addOf(product, { ref: "refs/tags/v*" });
  const attestation = toBytes(await sigstore.attest([randomBytes(9), bytes]));
  expect(await publishAttested(product, attestation, { bytes })).toMatchObject({ status: 201, notes: [] });
  const id = `${product}-windows-x64-1.4.0`;
  for (const url of [
    `/api/download/windows?product=${product}&version=1.4.0&file=setup.exe.sigstore.json`,
    `/api/updates/${product}/stable/1.4.0/windows-x64/setup.exe.sigstore.json`,
    `/api/updates/${product}/stable/setup.exe.sigstore.json`,
  ]) {
    const response = await get(url);
    expect(response.headers.get("content-type")).toBe("application/vnd.dev.sigstore.bundle.v0.3+json");
    expect(Buffer.from(await response.arrayBuffer()).equals(attestation)).toBe(true);
  }
  const key = await newKey();
  const verify = () => callReleases("POST", "/verifications", key.key, { releaseId: id });
  expect(await verify()).toMatchObject({ status: 200, files: [{ problem: null }, { problem: null, kinds: [] }] });
  const folder = path.join(ctx().config.DATA_DIR, "releases", sha256Of(bytes).slice(0, 16));
  expect((await readdir(folder)).sort()).toEqual([`${sha256Of(attestation).slice(0, 16)}.sigstore.json`, "setup.exe"]);
  // Whoever can write to the disk and the catalog cannot make another file attested.
  const manifest = path.join(ctx().config.DATA_DIR, "releases", "catalog.json");
  const other = toBytes(await (await newSigstore()).attest([bytes]));
  await writeFile(path.join(folder, `${sha256Of(attestation).slice(0, 16)}.sigstore.json`), other);
  const text = (await readFile(manifest, "utf8")).replace(sha256Of(attestation), sha256Of(other));
  await writeFile(manifest, text.replace(`"sizeBytes": ${attestation.length}`, `"sizeBytes": ${other.length}`));
  expect(await verify()).toMatchObject({
    files: [{ problem: null }, { problem: expect.stringContaining("certificate") }],
  });
  // It goes with its release, and a promoted release keeps it.
  const json = { filter: { ids: [id] }, isForced: true, isDryRun: false };
  expect((await call("POST", "/api/admin/releases/removals", { token: key.key, json })).status).toBe(200);
  expect(await readdir(path.dirname(folder))).not.toContain(path.basename(folder));
});

test("what GitHub attested is published with the root that ships", async () => {
  setContext({ ...ctx(), config: { ...ctx().config, SIGSTORE_TRUSTED_ROOT: undefined } });
  const product = `p-${randomUUID().slice(0, 8)}`;
  const issuer = "https://token.actions.githubusercontent.com/hammer-time";
  await addOf(product, { repository: "too-legit/attest", workflow: "integration.yml", issuer, ref: "refs/heads/main" });
  const published = await publishAttested(product, await readSample(), { bytes: SAMPLE_FILE });
  expect(published).toMatchObject({ status: 201, notes: [] });
});

const GITLAB_CONFIG = "https://gitlab.com/acme/apps/app//.gitlab-ci.yml@refs/tags/v1.4.0";
const SHARED_WORKFLOW = "acme/shared/.github/workflows/build.yml@refs/heads/main";

test.each<[string, object, BuildClaims]>([
  [
    "a project at GitLab",
    { type: "gitlab", repository: "acme/apps/app", workflow: ".gitlab-ci.yml", ref: "refs/tags/v*" },
    { ...BUILD, 8: "https://gitlab.com", 9: GITLAB_CONFIG, 12: "https://gitlab.com/acme/apps/app", 18: GITLAB_CONFIG },
  ],
  ["a reusable workflow", { workflow: SHARED_WORKFLOW }, { ...BUILD, 9: `https://github.com/${SHARED_WORKFLOW}` }],
  [
    "another issuer, by the subject of its token",
    { type: "oidc", issuer: "https://ci.example.com", claims: { sub: "core" } },
    { ...BUILD, 8: "https://ci.example.com", 24: "core" },
  ],
])("an attestation is by %s", async (_, publisher, claims) => {
  const [product, bytes] = [`p-${randomUUID().slice(0, 8)}`, randomBytes(100)];
  const attestation = toBytes(await sigstore.attest([bytes], { claims }));
  expect(await publishAttested(product, attestation, { bytes })).toMatchObject({ code: "attestation_invalid" });
  await addOf(product, publisher);
  expect(await publishAttested(product, attestation, { bytes })).toMatchObject({ status: 201, notes: [] });
  const other = toBytes(
    await sigstore.attest([bytes], { claims: { ...claims, 9: "https://a.example/b", 24: "other" } }),
  );
  expect(await publishAttested(product, other, { bytes })).toMatchObject({ code: "attestation_invalid" });
});

test("a command publishes an attestation of its file, of several, and verifies what a service elsewhere serves", async () => {
  const [product, bytes] = [`p-${randomUUID().slice(0, 8)}`, randomBytes(1000)];
  await addOf(product);
  const testFolder = await newFolder();
  // `gh attestation download`: a line for each attestation, also those of other workflows.
  const nightly = { ...BUILD, 9: "https://github.com/acme/app/.github/workflows/nightly.yml@refs/tags/v1.4.0" };
  const bundles = [
    await sigstore.attest([bytes], { predicateType: "https://spdx.dev/Document" }),
    await sigstore.attest([bytes], { claims: nightly }),
    await sigstore.attest([bytes]),
  ];
  const lines = bundles.map((one) => `${JSON.stringify(one)}\n`);
  const attestationFile = await build(testFolder, `sha256:${sha256Of(bytes)}.jsonl`, Buffer.from(lines.join("")));
  const store = storeOf(await newKey());
  const draft = storeDraftOf(await build(testFolder, "setup.exe", bytes), "1.4.0", {
    attestationFile,
    release: { product },
  });
  const added = await store.add([{ ...draft, confirmations: { isNew: true } }]);
  expect(added).toMatchObject({ releases: [{ outcome: "added" }], notes: [] });
  const served = await get(`/api/updates/${product}/stable/setup.exe.sigstore.json`);
  expect(await served.text()).toBe(lines[2]);
  // An attestation can be added later, and again.
  expect(await store.add([draft])).toMatchObject({ releases: [{ outcome: "unchanged" }] });
  const promoted = await store.promote({ product, version: "1.4.0" }, { from: "stable", to: "beta" });
  expect(promoted.releases).toHaveLength(1);
  expect((await get(`/api/updates/${product}/beta/1.4.0/windows-x64/setup.exe.sigstore.json`)).status).toBe(200);
});

const workflowOf = (workflow: string, ref = "refs/tags/v1.4.0") => {
  const uri = `https://github.com/${workflow}@${ref}`;
  return { ...BUILD, 9: uri, 14: ref, 18: uri };
};
const bytes = randomBytes(1000);
const attest = async (claims = BUILD) => toBytes(await sigstore.attest([bytes], { claims }));

test.each<[string, () => Promise<Buffer>, string]>([
  [
    "of another repository",
    () => attest({ ...workflowOf("evil/app/.github/workflows/release.yml"), 12: "https://github.com/evil/app" }),
    "repository must be acme/app",
  ],
  ["of a repository that took the name", () => attest({ ...BUILD, 15: "2" }), "repository_id must be 804070735"],
  [
    "of a workflow with the name in another folder",
    () => attest(workflowOf("acme/app/.github/workflows/old/release.yml")),
    "job_workflow_ref must be acme/app/.github/workflows/release.yml",
  ],
  [
    "of another workflow that uses the workflow",
    () => attest({ ...BUILD, 18: "https://github.com/acme/app/.github/workflows/any.yml@refs/tags/v1.4.0" }),
    "workflow_ref must be",
  ],
  [
    "of a branch",
    () => attest(workflowOf("acme/app/.github/workflows/release.yml", "refs/heads/main")),
    "ref must be refs/tags/v*",
  ],
  ["of a pull request", () => attest({ ...BUILD, 20: "pull_request_target" }), "event_name must be no pull request"],
  ["of another issuer", () => attest({ ...BUILD, 8: "https://ci.example.com" }), "which is no publisher of"],
  ["in a file of more lines than it can have", async () => Buffer.from("{}\n".repeat(1001)), "more than 1000 lines"],
  ["without claims", () => attest({ 8: "https://token.actions.githubusercontent.com" }), "must be"],
  [
    "of another file",
    async () => toBytes(await sigstore.attest([randomBytes(9)])),
    "provenance of other files, or of none",
  ],
  [
    "by another Sigstore instance",
    async () => toBytes(await (await newSigstore()).attest([bytes])),
    "certificate chain",
  ],
  [
    "of 10 MB of deep JSON",
    async () => Buffer.from(`${"[".repeat(5_000_000)}${"]".repeat(5_000_000)}`),
    "larger than 1 MiB",
  ],
  ["of 1 MB of deep JSON", async () => Buffer.from(`${"[".repeat(500_000)}${"]".repeat(500_000)}`), "of none"],
  ["that is no JSON", async () => Buffer.from("{"), "JSON"],
])("an attestation %s is refused with the reason, and nothing is published", async (_, make, reason) => {
  const product = `p-${randomUUID().slice(0, 8)}`;
  const { id } = await addOf(product, { ref: "refs/tags/v*" });
  await ctx().db.publisher.update({ where: { id }, data: { repositoryId: "804070735", ownerId: "16248153" } });
  const refused = await publishAttested(product, await make(), { bytes });
  expect(refused).toMatchObject({ status: 422, code: "attestation_invalid" });
  expect(refused.detail).toMatch(/^The attestation of setup\.exe is not valid: /);
  expect(refused.detail).toContain(reason);
  expect(await readdir(path.join(ctx().config.DATA_DIR, "releases"))).toEqual([".uploads"]);
});

test("an attestation by a publisher that is new to a product which requires one counts a day later", async () => {
  const [product, bytes] = [`p-${randomUUID().slice(0, 8)}`, randomBytes(1000)];
  const since = clock.now();
  await ctx().db.releasePolicy.create({
    data: { product, requirements: ["attestation"], approvals: 0, publicKeys: [], since },
  });
  clock.advance(60_000);
  await addOf(product);
  const attestation = toBytes(await sigstore.attest([bytes]));
  expect(await publishAttested(product, attestation, { bytes })).toMatchObject({
    status: 422,
    detail: expect.stringContaining("24 hours after it was added"),
  });
  clock.advance(24 * 60 * 60_000);
  expect(await publishAttested(product, attestation, { bytes })).toMatchObject({ status: 201 });
  clock.reset();
  await ctx().db.releasePolicy.delete({ where: { product } });
});

test("a policy counts no attestation for another file of the same name", async () => {
  const product = `p-${randomUUID().slice(0, 8)}`;
  await addOf(product);
  await ctx().db.releasePolicy.create({
    data: { product, requirements: ["attestation"], approvals: 0, publicKeys: [], since: clock.now() },
  });
  const key = await newKey();
  const [own, bundle] = [await uploadFile(key, bytes), await uploadFile(key, await attest(), "a.json")];
  const draft = draftOf("1.4.0", own, { kinds: ["update"], attestationUploadId: bundle.id });
  draft.files.push({ uploadId: (await uploadFile(key)).id, kinds: ["installer"] });
  const release = { ...draft.release, product };
  expect(await publishDrafts(key.key, [{ ...draft, release, confirmations: { isNew: true } }])).toMatchObject({
    status: 422,
    code: "policy_unmet",
  });
  await ctx().db.releasePolicy.delete({ where: { product } });
});

test("an attestation needs a publisher of its product and channel, and the commit of the job that publishes it", async () => {
  const product = `p-${randomUUID().slice(0, 8)}`;
  const refusal = (detail: string) => ({
    status: 422,
    code: "attestation_invalid",
    detail: expect.stringContaining(detail),
  });
  expect(await publishAttested(product, await attest(), { bytes })).toMatchObject(
    refusal(`no publisher of ${product}`),
  );
  await addOf(product, { channel: "nightly" });
  expect(await publishAttested(product, await attest(), { bytes })).toMatchObject(refusal("on the channel stable"));
  const issuer = await CiIssuer.start("github", clock.now);
  await addOf(product, { issuer: issuer.origin });
  const grant = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: issuer.token(BASE_URL),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    audience: product,
  };
  const { access_token: key } = (await (await postOAuth("token", grant)).json()) as { access_token: string };
  const own = { ...BUILD, 8: issuer.origin, 15: "74", 17: "65" };
  // The tag was moved between the build and the publication.
  expect(await publishAttested(product, await attest(own), { bytes, key })).toMatchObject(
    refusal(`it is of the commit ${COMMIT}, and the job that publishes is of 1a2b3c4`),
  );
  const moved = { ...own, 13: "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b" };
  expect(await publishAttested(product, await attest(moved), { bytes, key })).toMatchObject({ status: 201 });
  await issuer.close();
});

test("a folder's attestations are found by what they state, whatever their names, and an export takes them along", async () => {
  const output = await newOutput();
  const [setup, dmg] = [randomBytes(500), randomBytes(500)];
  await writeElectronUpdate(output, "latest.yml", "1.4.0", ["Setup.exe"], {}, { "Setup.exe": setup });
  await writeElectronUpdate(output, "latest-mac.yml", "1.4.0", ["Acme-mac.zip", "Acme.dmg"], {}, { "Acme.dmg": dmg });
  await output.write("attestation.json", toBytes(await sigstore.attest([setup, dmg])));
  await output.write("Old.exe.sigstore.json", toBytes(await sigstore.attest([randomBytes(9)])));
  await output.write("log.jsonl", "{");
  const { drafts, notes } = await output.drafts();
  const attested = drafts.flatMap(({ files }) => files.map(({ file, attestationFile }) => [file, attestationFile]));
  const nameOf = (file: string | undefined) => file && path.basename(file);
  expect(Object.fromEntries(attested.map(([file, attestation]) => [nameOf(file), nameOf(attestation)]))).toEqual({
    "Setup.exe": "attestation.json",
    "Acme-mac.zip": undefined,
    "Acme.dmg": "attestation.json",
  });
  expect(notes.filter((note) => note.includes("provenance"))).toEqual(
    ["Old.exe.sigstore.json", "log.jsonl"].map(
      (name) => `${name} is not published: it does not state the provenance of a published file.`,
    ),
  );
  // A catalog that is only a file knows no publishers, and says so.
  const attestations = { trustedRoots: [sigstore.trustedRoot] };
  const deps = { manifestFile: output.manifest, storage: null, now: clock.now, attestations };
  const added = await addReleases(deps, drafts);
  expect(added.notes).toEqual([
    `The attestation is by ${BUILD[9]}. This was NOT compared with the publishers of core: only the service knows them.`,
  ]);
  const { files } = await readCatalog({ ...ctx().config, RELEASE_CATALOG: output.manifest });
  expect(files.filter(({ file }) => file.endsWith(".sigstore.json"))).toHaveLength(2);
  const other = { ...deps, attestations: { trustedRoots: undefined } };
  await expect(addReleases(other, drafts)).rejects.toMatchObject({ code: "attestation_invalid" });
});

test.each(["{", "{}", JSON.stringify({ ...sigstore.trustedRoot, certificateAuthorities: [] }), ""])(
  "SIGSTORE_TRUSTED_ROOT refuses a file with %j",
  async (text) => {
    const file = path.join(await newDataFolder(), "root.json");
    await writeFile(file, text);
    expect(() => loadConfig({ SIGSTORE_TRUSTED_ROOT: file })).toThrow("SIGSTORE_TRUSTED_ROOT");
    const roots = [sigstore.trustedRoot, sigstore.trustedRoot];
    await writeFile(file, roots.map((root) => `${JSON.stringify(root)}\n`).join(""));
    expect(loadConfig({ SIGSTORE_TRUSTED_ROOT: file }).SIGSTORE_TRUSTED_ROOT).toHaveLength(2);
    await writeFile(file, JSON.stringify(sigstore.trustedRoot, null, 2));
    expect(loadConfig({ SIGSTORE_TRUSTED_ROOT: file }).SIGSTORE_TRUSTED_ROOT).toHaveLength(1);
  },
);
