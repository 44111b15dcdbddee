import { createHash } from "node:crypto";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import { ifMissing } from "../../platform/files/durable";
import { readMirrorState } from "../../platform/http/health";
import { isAccessible, type ReleaseReader } from "../access";
import { READS } from "../publishing/operations";
import { servedFiles } from "../release-files";
import { availableReleases, feedsOf, releaseFilesOf, servableReleases } from "./contents";
import { feedObject } from "./mirror";
import { openMirrorStore } from "./store";

const Mirror = z.object({
  location: z.string().describe("`RELEASE_MIRROR`."),
  url: z.url().describe("The origin at which clients reach it."),
  isCurrent: z.boolean().describe("Whether it has all that the catalog offers to every client."),
  currentAt: z.date().nullable().describe("When it last was. null: not yet."),
  pendingFiles: z.int().describe("How many files are still to be copied."),
  error: z.string().nullable().describe("Why the last attempt to write it failed. null: it did not."),
});

const MirrorCheck = z.strictObject({
  after: z.string().max(4096).optional().describe("`next` of the response before. By default the first path."),
});
type MirrorCheck = z.infer<typeof MirrorCheck>;

const CheckedMirror = z.object({
  valid: z.int().describe("How many feeds and files are as they should be."),
  problems: z.array(z.object({ path: z.string().describe("Below `api/updates/`."), problem: z.string() })),
  next: z.string().nullable().describe("The last path that was compared. null: that was all."),
});
type CheckedMirror = z.infer<typeof CheckedMirror>;

type Deps = Pick<Context, "catalog" | "config" | "db" | "now">;

/** How long a request compares before it returns what it has found. */
const MAX_CHECK_MS = 10_000;

async function getMirror({ config, ...deps }: Deps, { releaseAccess }: ReleaseReader): Promise<z.infer<typeof Mirror>> {
  const state = await readMirrorState({ config, ...deps });
  const { RELEASE_MIRROR: location, RELEASE_MIRROR_URL: url = config.baseUrl } = config;
  if (!state || location === undefined) throw new AppError("mirror_not_configured");
  // It may name a file of a product that is not the caller's.
  const error = state.error !== null && releaseAccess ? "The last attempt failed" : state.error;
  return { location, url, ...state, error };
}

/**
 * Reads what is on the mirror, and compares it with the catalog.
 * @throws AppError mirror_not_configured, catalog_unavailable, mirror_unavailable
 */
async function verifyMirror(
  deps: Deps,
  { releaseAccess }: ReleaseReader,
  { after = "" }: MirrorCheck,
): Promise<CheckedMirror> {
  const store = openMirrorStore(deps.config, deps.now);
  if (!store) throw new AppError("mirror_not_configured");
  const { expected, offered } = expectedOn(deps);
  const listed = await read(store.list());
  const isReadable = (path: string) => {
    const [product = "", channel = ""] = path.split("/");
    return path > after && isAccessible(releaseAccess, { product, channel });
  };
  const paths = [...new Set([...expected.keys(), ...listed.keys()])].filter(isReadable).sort();
  const result: CheckedMirror = { valid: 0, problems: [], next: null };
  const startedMs = performance.now();
  for (const [i, path] of paths.entries()) {
    const reading = listed.has(path) ? digest(store.read(path)).catch(ifMissing(null)) : null;
    const sha256 = reading && (await read(reading));
    const problem = problemOf(sha256, expected.get(path), offered);
    if (problem === null) result.valid++;
    else result.problems.push({ path, problem });
    if (i < paths.length - 1 && performance.now() - startedMs > MAX_CHECK_MS) return { ...result, next: path };
  }
  return result;
}

/** The hashes of all that a complete mirror has, and of all that may be there for downloads that have begun. */
function expectedOn({ catalog, config, now }: Deps): { expected: Map<string, string>; offered: Set<string> } {
  const snapshot = catalog.current();
  if (!snapshot) throw new AppError("catalog_unavailable");
  const files = releaseFilesOf(snapshot);
  const isThere = () => true;
  const available = availableReleases(snapshot, files, isThere, isThere);
  const named = feedsOf(available, snapshot, config.RELEASE_MIRROR_URL ?? config.baseUrl);
  const expected = new Map([...files, ...named.files].map(([path, { artifact }]) => [path, artifact.sha256] as const));
  for (const [path, feed] of named.feeds) expected.set(path, feedObject(feed, now()).sha256);
  const offered = servableReleases(available).flatMap((release) => servedFiles(release).map(({ sha256 }) => sha256));
  return { expected, offered: new Set(offered) };
}

function problemOf(sha256: string | null, expected: string | undefined, offered: ReadonlySet<string>): string | null {
  if (sha256 === null) return expected === undefined ? null : "is missing"; // it may be removed meanwhile
  if (expected === undefined) return offered.has(sha256) ? null : "is not of the catalog";
  return sha256 === expected ? null : "differs from the catalog";
}

async function digest(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) hash.update(chunk);
  return hash.digest("hex");
}

const read = <T>(reading: Promise<T>): Promise<T> =>
  reading.catch((cause: unknown) => {
    throw new AppError("mirror_unavailable", { cause });
  });

export const mirrorOperations = {
  getReleaseMirror: operation({
    id: "getReleaseMirror",
    summary: "Get the state of the mirror of releases",
    description: "Says whether the copy of feeds and files at `RELEASE_MIRROR` is current.",
    ...READS,
    errors: ["mirror_not_configured"],
    response: {
      description: "The mirror.",
      schema: Mirror,
      examples: {
        Current: {
          location: "s3://example-updates",
          url: "https://mirror.example.com",
          isCurrent: true,
          currentAt: "2026-11-20T09:00:00.000Z",
          pendingFiles: 0,
          error: null,
        },
      },
    },
    run: ({ ctx, operator }) => getMirror(ctx, operator),
  }),

  verifyReleaseMirror: operation({
    id: "verifyReleaseMirror",
    summary: "Compare the mirror of releases with the catalog",
    description:
      "Reads feeds and files at `RELEASE_MIRROR` and compares them with what the catalog offers. A request reads for about ten seconds: repeat it with `after` until `next` is null.",
    ...READS,
    body: MirrorCheck,
    errors: ["mirror_not_configured", "catalog_unavailable", "mirror_unavailable"],
    examples: { "From the first path": {} },
    response: {
      description: "What was compared.",
      schema: CheckedMirror,
      examples: {
        "A feed was changed": {
          valid: 12,
          problems: [{ path: "core/stable/latest.yml", problem: "differs from the catalog" }],
          next: null,
        },
      },
    },
    run: ({ ctx, operator, body }) => verifyMirror(ctx, operator, body),
  }),
};
