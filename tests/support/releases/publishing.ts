import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished } from "vitest";
import { addReleases } from "@/lib/releases/publishing/add";
import type { DraftFile, ReleaseDraft } from "@/lib/releases/publishing/draft";
import { changeManifest, readManifest } from "@/lib/releases/publishing/manifest-file";
import { planPromotion, planUpdate } from "@/lib/releases/publishing/plan-changes";
import { type VerifyResult, verifyReleases } from "@/lib/releases/publishing/verify";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import type { Release } from "@/lib/releases/schema";

/** The time of every publication. */
export const NOW = new Date("2026-11-20T12:00:00Z");

/** A temporary folder, and the catalog's manifest in it. */
export type TestFolder = { folder: string; manifest: string };

/** An empty folder, with the path of a manifest in it that does not exist yet. */
export async function newFolder(): Promise<TestFolder> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-publish-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, manifest: path.join(folder, "releases", "catalog.json") };
}

/** Writes a build with these bytes outside the catalog. Returns its path. */
export async function build({ folder }: TestFolder, name: string, bytes: Buffer = randomBytes(1000)): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

/** What a publication has other than the defaults of `publish`. */
export type Change = Partial<Omit<DraftFile, "file">> &
  Pick<ReleaseDraft, "publicKeys" | "confirmations"> & { release?: object };

/** A draft of one file, by default of the Windows installer of the product core. */
export function draftOf(file: string, version: string, change: Change = {}): ReleaseDraft {
  const { release, publicKeys = {}, confirmations = {}, ...rest } = change;
  return {
    release: { product: "core", platform: "windows", architecture: "x64", version, ...release },
    files: [{ file, kinds: ["installer"], ...rest }],
    publicKeys,
    confirmations,
  };
}

/** Publishes drafts at once. */
export const publishAll = ({ manifest }: TestFolder, drafts: readonly ReleaseDraft[]) =>
  addReleases({ manifestFile: manifest, storage: null, now: () => NOW }, drafts);

/** Publishes a file, by default as the Windows installer of the product core. */
export async function publish(testFolder: TestFolder, file: string, version: string, change: Change = {}) {
  const { releases, ...result } = await publishAll(testFolder, [draftOf(file, version, change)]);
  const [added = { id: "", outcome: "unchanged" as const }] = releases;
  return { ...added, ...result };
}

/** The releases in the manifest. */
export const releasesOf = async ({ manifest }: TestFolder): Promise<readonly Release[]> =>
  (await readManifest(manifest)).releases;
/** Their versions. */
export const versions = async (testFolder: TestFolder) =>
  (await releasesOf(testFolder)).map(({ version }) => version.version);

/** Verifies all files of the manifest, those at URLs only if `shouldVerifyRemote`. */
export async function verify(
  testFolder: TestFolder,
  shouldVerifyRemote = false,
  stallTimeoutMs?: number,
): Promise<VerifyResult[]> {
  const found: VerifyResult[] = [];
  const reach = { shouldVerifyRemote, storage: null, stallTimeoutMs };
  for await (const one of verifyReleases(testFolder.manifest, await releasesOf(testFolder), reach)) found.push(one);
  return found;
}

/** The names of all files below a folder. */
export const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** Expects a rejection that changes nothing. */
export async function expectRejected(
  testFolder: TestFolder,
  publishing: () => Promise<unknown>,
  reason: string | RegExp | object,
) {
  const before = await filesIn(path.dirname(testFolder.manifest));
  const text = await readFile(testFolder.manifest, "utf8");
  if (typeof reason === "string" || reason instanceof RegExp) await expect(publishing()).rejects.toThrow(reason);
  else await expect(publishing()).rejects.toMatchObject(reason);
  expect(await readFile(testFolder.manifest, "utf8")).toBe(text);
  expect(await filesIn(path.dirname(testFolder.manifest))).toEqual(before);
}

/** A catalog with core 1.4.0. */
export async function newCatalog(change: Change = {}): Promise<TestFolder> {
  const testFolder = await newFolder();
  await publish(testFolder, await build(testFolder, "setup.exe"), "1.4.0", change);
  return testFolder;
}

/** A catalog with the samples. */
export async function newSamples(): Promise<TestFolder> {
  const testFolder = await newFolder();
  await writeSampleCatalog(testFolder.manifest);
  return testFolder;
}

/** Changes published releases. */
export const updateReleases = (
  manifest: string,
  ...change: Parameters<typeof planUpdate> extends [unknown, ...infer Rest] ? Rest : never
) => changeManifest(manifest, (current) => planUpdate(current, ...change));

/** Promotes releases, at the time of every publication. */
export const promoteReleases = (
  manifest: string,
  filter: Parameters<typeof planPromotion>[1],
  promotion: Parameters<typeof planPromotion>[2],
) => changeManifest(manifest, (current) => planPromotion(current, filter, promotion, NOW.toISOString()));
