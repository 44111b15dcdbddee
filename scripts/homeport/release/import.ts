import { createHash } from "node:crypto";
import { homedir } from "node:os";
import path from "node:path";
import { compareBuild } from "semver";
import { UsageError } from "../../command-line";
import { type Output, printable } from "../output";
import { publishOrConfirm } from "./add";
import type { ReleaseCommand } from "./define-release-command";
import { CHECK_OPTIONS, parseChecks, parseDestination } from "./draft";
import type { ImportedRelease } from "./import/import-releases";
import { parseInteger, type Values } from "./options";

export const IMPORT_OPTIONS = {
  from: { value: "source", help: "github: the releases of a repository OWNER/REPO (default: the feed at a URL)" },
  product: { value: "name", help: "the product (required)" },
  channel: { value: "name", help: "the channel (default: the feed's channel, otherwise by the version)" },
  version: { value: "version", help: "only this version" },
  newest: { value: "count", help: "only this many of the newest versions" },
  arch: { value: "arch", help: "the architecture of files that say none" },
  "dry-run": { help: "only list what would be imported" },
  publish: { help: "offer the releases to clients" },
  s3: { help: "upload to the object storage" },
  ...CHECK_OPTIONS,
} as const;

/** `import --from github OWNER/REPO --product P` and `import URL --product P` */
export const importCommand: ReleaseCommand<typeof IMPORT_OPTIONS> = async (
  { openStore, output },
  values,
  [from = ""],
) => {
  const { product } = values;
  if (product === undefined) throw new UsageError("import requires --product.");
  const newest = parseInteger(values.newest, "--newest");
  const { notes, releases } = await readSource(from, values);
  for (const note of notes) output.note(printable(note));
  const store = await openStore();
  const { importReleases } = await import("./import/import-releases");
  const options = {
    product,
    channel: values.channel,
    architecture: values.arch,
    destination: parseDestination(values),
    folder: downloadFolder(from),
    isDryRun: values["dry-run"] === true,
    shouldPublish: values.publish === true,
    onImported: (imported: ImportedRelease) => print(output, imported),
    ...(await parseChecks(values)),
  };
  const result = await importReleases(
    store,
    (drafts) => publishOrConfirm(store, drafts),
    select(releases, values.version, newest),
    options,
  );
  for (const note of result.notes) output.note(printable(note));
  const summary = summaryOf(result.imported, result.published.length, values);
  output.result({ dryRun: options.isDryRun, ...result }, [summary]);
  if (result.imported.some(({ outcome }) => outcome === "refused")) process.exitCode = 1;
};

async function readSource(from: string, { from: kind }: Values<typeof IMPORT_OPTIONS>) {
  const { httpUrl } = await import("./import/http");
  if (kind === undefined) {
    const url = httpUrl(from);
    if (!url) throw new UsageError("import takes the http or https URL of a feed, or --from github OWNER/REPO.");
    const { readFeeds } = await import("./import/feeds");
    return readFeeds(url);
  }
  if (kind !== "github") throw new UsageError("--from must be github. For a feed, give its URL alone.");
  const { parseRepository, readGitHub } = await import("./import/github");
  const { GITHUB_API_URL, GITHUB_TOKEN } = process.env;
  const apiUrl = GITHUB_API_URL || "https://api.github.com";
  if (!httpUrl(apiUrl)) throw new UsageError("GITHUB_API_URL must be a URL such as https://github.example.com/api/v3.");
  return readGitHub(parseRepository(from), { apiUrl, token: GITHUB_TOKEN || undefined });
}

/** The downloads of one source, for the next run after a stop. */
function downloadFolder(from: string): string {
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  return path.join(cache, "homeport-release", "import", createHash("sha256").update(from).digest("hex").slice(0, 16));
}

function select<T extends { version: string }>(
  releases: readonly T[],
  version: string | undefined,
  newest: number | undefined,
): T[] {
  const named = releases.filter((one) => version === undefined || one.version === version.replace(/^v/i, ""));
  if (version !== undefined && named.length === 0) throw new UsageError(`The source has no version ${version}.`);
  if (newest === undefined) return named;
  const versions = [...new Set(named.map((one) => one.version))].sort(compareBuild).slice(-newest);
  return newest === 0 ? [] : named.filter((one) => versions.includes(one.version));
}

const OUTCOMES = {
  added: "imported",
  changed: "imported more files",
  unchanged: "already imported",
  new: "would be imported",
  refused: "refused",
} as const;

/** One line at once, since a run may take hours. */
function print(output: Output, imported: ImportedRelease): void {
  const { version, channel, releasedAt, files, skipped, outcome, error } = imported;
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  const line = [version, channel, releasedAt?.slice(0, 10) ?? "-", count, OUTCOMES[outcome]].join("  ");
  if (!output.isJson) output.result(imported, [printable(line)]);
  if (skipped.length > 0) output.note(`${version}: skipped ${printable(skipped.join(", "))}`);
  if (error) output.note(`${version}: ${printable(error.message)}`);
}

function summaryOf(
  imported: readonly ImportedRelease[],
  published: number,
  values: Values<typeof IMPORT_OPTIONS>,
): string {
  const refused = imported.filter(({ outcome }) => outcome === "refused").length;
  const failed = refused > 0 ? ` ${refused} refused.` : "";
  if (values["dry-run"]) return `Nothing was imported.${failed}`;
  if (values.publish) return `${published === 1 ? "1 release is" : `${published} releases are`} now offered.${failed}`;
  const isNew = imported.some(({ outcome }) => outcome === "added");
  return `${isNew ? "Nobody is offered them yet: look at them with list, then run import again with --publish." : "Nothing is new."}${failed}`;
}
