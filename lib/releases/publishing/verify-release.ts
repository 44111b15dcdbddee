import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { servedFiles } from "../release-files";
import { ArtifactKind } from "../schema";
import { filterReleases } from "./filter-releases";
import { readManifest } from "./manifest-file";
import type { ReleasesFilter } from "./schema";
import { requireCatalogFile, withAppErrors, withoutFolder } from "./service-catalog";
import { verifyReleases } from "./verify";

export const Verification = z.strictObject({
  releaseId: z.string().min(1).max(128),
  isStorageIncluded: z.boolean().default(true).describe("Whether files in object storage are hashed, too."),
});
type Verification = z.infer<typeof Verification>;

export const VerifiedRelease = z.object({
  files: z.array(
    z.object({
      kinds: z.array(ArtifactKind).describe("Empty for others, deltas and block maps."),
      location: z
        .string()
        .describe("The path in the catalog's folder, or the object's key, and the start of the SHA-256."),
      problem: z.string().nullable().describe("null: every byte is as it was published."),
    }),
  ),
  elsewhere: z.int().describe("How many files are at URLs, where this service does not read them."),
});
export type VerifiedRelease = z.infer<typeof VerifiedRelease>;

type Deps = Pick<Context, "config" | "storage">;

/**
 * Hashes all files of a release again: those in the catalog's folder and in the object storage. Files at URLs are left to
 * the caller, who can download them: the service requests no URL that a caller may have chosen.
 * @throws AppError release_not_found; those of `withAppErrors`
 */
export async function verifyRelease(
  { config, storage }: Deps,
  { releaseId: id, isStorageIncluded }: Verification,
): Promise<VerifiedRelease> {
  const file = requireCatalogFile(config);
  const { releases } = await withAppErrors(file, () => readManifest(file));
  const release = releases.find((one) => one.id === id);
  if (!release) throw new AppError("release_not_found");
  const options = { shouldVerifyRemote: isStorageIncluded, shouldSkipUrls: true, storage } as const;
  const files: VerifiedRelease["files"] = [];
  for await (const { kinds, location, problem } of verifyReleases(file, [release], options)) {
    files.push({ kinds, location, problem: problem && withoutFolder(problem, file) });
  }
  return { files, elsewhere: servedFiles(release).filter(({ url }) => url !== undefined).length };
}

/** Verifies the files of all releases of a version. @throws AppError artifact_unavailable that names what is wrong */
export async function verifyVersion(deps: Deps, filter: ReleasesFilter): Promise<void> {
  const file = requireCatalogFile(deps.config);
  const { releases } = await withAppErrors(file, () => readManifest(file));
  const problems: string[] = [];
  for (const { id } of filterReleases(releases, filter)) {
    const { files } = await verifyRelease(deps, { releaseId: id, isStorageIncluded: true });
    problems.push(
      ...files.flatMap(({ location, problem }) => (problem === null ? [] : `${id}, ${location}: ${problem}`)),
    );
  }
  if (problems.length > 0) throw new AppError("artifact_unavailable", { detail: problems.join(". ") });
}
