import path from "node:path";
import {
  architectureIn,
  normalizeArchitecture,
  type Platform,
  parseVelopackSystem,
} from "../../../../lib/releases/platforms";
import type { Destination, DraftFile, ReleaseDraft } from "../../../../lib/releases/publishing/draft";
import { assignKinds, type FoundRelease } from "../../../../lib/releases/publishing/folder/found-releases";
import { readNuspec } from "../../../../lib/releases/publishing/folder/nuspec";
import {
  assertProgramArchitectures,
  programArchitecture,
} from "../../../../lib/releases/publishing/folder/program-architecture";
import { invalidRelease } from "../../../../lib/releases/publishing/invalid-release";
import { platformIn, type SourceFile, type SourceRelease } from "./source";

/** A file of a source that has been downloaded. */
export type ArrivedFile = { source: SourceFile; file: string };

export type DraftOptions = Pick<ReleaseDraft, "publicKeys" | "confirmations"> & {
  product: string;
  channel?: string | undefined;
  /** Of files whose name has none. */
  architecture?: string | undefined;
  destination: Destination;
};

export const noFiles = () => invalidRelease("It has no file that people install or updaters read.");

/** Marks an imported release until `--publish`: one that an operator pauses later stays paused. */
const NOT_OFFERED = { rollout: 0, rolloutSeries: "import" };
export const isNotOffered = ({ rollout, rolloutSeries }: { rollout: number; rolloutSeries: string | null }): boolean =>
  rollout === NOT_OFFERED.rollout && rolloutSeries === NOT_OFFERED.rolloutSeries;

type Placed = ArrivedFile & { platform: Platform; architecture: string | undefined };

/**
 * Makes drafts that nobody is offered: one for each platform and architecture among the files. Skips archives that are for no
 * platform.
 * @throws AppError release_invalid if the architecture of a file is unknown, or its program is for another one
 */
export async function draftRelease(
  release: SourceRelease,
  arrived: readonly ArrivedFile[],
  options: DraftOptions,
): Promise<{ drafts: ReleaseDraft[]; skipped: string[] }> {
  const placed: Placed[] = [];
  const skipped: string[] = [];
  for (const one of arrived) {
    const own = await place(one);
    if (own) placed.push(own);
    else skipped.push(path.basename(one.file));
  }
  const found = new Map<string, Placed[]>();
  for (const one of placed) {
    const target = `${one.platform} ${normalizeArchitecture(architectureOf(one, placed, options.architecture))}`;
    found.set(target, [...(found.get(target) ?? []), one]);
  }
  const drafts: ReleaseDraft[] = [];
  for (const [target, files] of found) drafts.push(await toDraft(release, target, files, options));
  if (drafts.length === 0) throw noFiles();
  return { drafts, skipped };
}

/** By what the source says, the name and the file itself, in this order. */
async function place({ source, file }: ArrivedFile): Promise<Placed | null> {
  const name = path.basename(file);
  const nuspec = /\.nupkg$/i.test(name) ? await readNuspec(file) : undefined;
  const [, system, machine] = /^(win|osx|linux)[\d.]*(?:-(\w+))?$/.exec(nuspec?.rid ?? "") ?? [];
  const ofPackage = nuspec && (parseVelopackSystem(nuspec.os ?? system ?? "") ?? "windows");
  const program = await programArchitecture(file);
  const isApp = /\.zip$/i.test(name) && program !== undefined;
  const platform = source.platform ?? ofPackage ?? platformIn(name) ?? (isApp ? "macos" : undefined);
  if (platform === undefined) return null;
  const own = source.architecture ?? architectureIn(name) ?? nuspec?.machineArchitecture ?? machine ?? program;
  return { source, file, platform, architecture: own };
}

/**
 * The architecture of a file. One that says none and that no feed lists, such as a disk image or a delta, has that of the files
 * beside it. @throws AppError
 */
function architectureOf(
  { platform, file, source, architecture }: Placed,
  placed: readonly Placed[],
  given: string | undefined,
): string {
  const others = placed.filter((one) => one.platform === platform).flatMap((one) => one.architecture ?? []);
  const [first, second] = [...new Set(others.map(normalizeArchitecture))];
  const common = second === undefined ? first : undefined;
  const stated = given ?? source.fallbackArchitecture;
  const own = architecture ?? (source.isUpdate ? (stated ?? common) : (common ?? stated));
  if (own !== undefined) return own;
  throw invalidRelease(`The architecture of ${path.basename(file)} is unknown: set it with --arch.`);
}

async function toDraft(
  release: SourceRelease,
  target: string,
  placed: readonly Placed[],
  options: DraftOptions,
): Promise<ReleaseDraft> {
  const { product, channel = release.channel, destination, publicKeys, confirmations } = options;
  const [name = "", architecture = ""] = target.split(" ");
  const platform = name as Platform;
  const { version } = release;
  const files = withKinds(platform, placed);
  const found: FoundRelease = { platform, architecture, version, channel, files };
  await assertProgramArchitectures(found);
  const fields = { ...release.fields, ...Object.assign({}, ...placed.map(({ source }) => source.fields ?? {})) };
  const stated = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return {
    release: { product, platform, architecture, version, channel, ...stated, ...NOT_OFFERED },
    files: files.map((file) => ({ ...file, destination })),
    publicKeys,
    confirmations,
  };
}

/** Squirrel.Windows and Velopack update with the full package, unless electron-updater or Tauri updates with an installer. */
function withKinds(platform: Platform, placed: readonly Placed[]): DraftFile[] {
  const draftOf = ({ source, file }: Placed) => {
    const { fileName, minisign, edSignature } = source;
    return { file, artifact: { fileName: fileName ?? path.basename(file), minisign, edSignature } };
  };
  const deltas = placed.filter(({ source }) => source.from !== undefined);
  const packages = placed.filter((one) => /\.nupkg$/i.test(one.file) && !deltas.includes(one));
  const others = placed.filter((one) => !deltas.includes(one) && !packages.includes(one));
  const isPackageUpdate = packages.length > 0 && !others.some(({ source }) => source.isUpdate);
  const complete = assignKinds(platform, others.map(draftOf)).map(({ kinds, ...file }): DraftFile => {
    const own = isPackageUpdate ? kinds.filter((kind) => kind !== "update") : kinds;
    return { ...file, kinds: own.length > 0 ? own : ["other"] };
  });
  return [
    ...complete,
    ...packages.map(
      (one, index): DraftFile => ({ ...draftOf(one), kinds: [isPackageUpdate && index === 0 ? "update" : "other"] }),
    ),
    ...deltas.map((one): DraftFile => ({ ...draftOf(one), kinds: ["delta"], from: one.source.from })),
  ];
}
