import { CommandError } from "../../../lib/errors";
import type { PrunedCatalog, RemovalResult } from "../../../lib/releases/publishing/schema";
import { UsageError } from "../../command-line";
import { parseDurationMs } from "../options";
import type { Output } from "../output";
import { formatBytes } from "../output";
import { confirm, isInteractive } from "../terminal";
import type { ReleaseCommand } from "./define-release-command";
import { FILTER_OPTIONS, parseInteger, toFilter } from "./options";

const CONFIRM_OPTIONS = {
  "dry-run": { help: "only list what would be removed" },
  yes: { help: "do not ask; required without a terminal" },
} as const;
export const REMOVE_OPTIONS = {
  ...FILTER_OPTIONS,
  force: { help: "also remove releases that are offered to clients" },
  ...CONFIRM_OPTIONS,
} as const;
export const PRUNE_OPTIONS = {
  keep: { value: "count", help: "keep this number of the newest releases of each channel" },
  "older-than": { value: "age", help: "remove releases that are older, such as 12h, 90d or 8w" },
  ...CONFIRM_OPTIONS,
  ...FILTER_OPTIONS,
} as const;

/** `remove RELEASE` */
export const remove: ReleaseCommand<typeof REMOVE_OPTIONS> = async ({ openStore, output }, values, positionals) => {
  const store = await openStore();
  const isForced = values.force ?? false;
  const filter = toFilter(values, positionals);
  const run: Run = (isDryRun, etag) => store.remove(filter, { isForced, isDryRun }, etag);
  await runConfirmed(output, values, run);
};

/** `prune --keep N --older-than AGE` */
export const prune: ReleaseCommand<typeof PRUNE_OPTIONS> = async ({ openStore, output }, values) => {
  if (values.version !== undefined) throw new UsageError("prune does not take --version: use remove.");
  const keep = parseInteger(values.keep, "--keep");
  const publishedBefore = values["older-than"] === undefined ? undefined : timeBefore(values["older-than"]);
  const store = await openStore();
  const filter = toFilter(values);
  const run: Run = (isDryRun, etag) => store.prune(filter, { keep, publishedBefore, isDryRun }, etag);
  await runConfirmed(output, values, run);
};

function timeBefore(age: string): Date {
  const ageMs = parseDurationMs(age, "hdw");
  if (ageMs === null) throw new UsageError("The age must be a number of hours, days or weeks, such as 12h or 90d.");
  return new Date(Date.now() - ageMs);
}

type Removed = RemovalResult & Partial<Pick<PrunedCatalog, "freedBytes">>;

type Run = (isDryRun: boolean, etag?: string) => Promise<{ result: Removed; etag?: string | undefined }>;

/** Removes what was shown and confirmed, or --yes. It is refused if somebody has changed the releases since. */
async function runConfirmed(
  output: Output,
  { "dry-run": isDryRun = false, yes = false }: { "dry-run"?: boolean; yes?: boolean },
  run: Run,
): Promise<void> {
  let etag: string | undefined;
  if (!yes || isDryRun) {
    const dryRun = await run(true);
    const planned = dryRun.result;
    etag = dryRun.etag;
    const isNothing = planned.releases.length + planned.files.length === 0;
    if (isDryRun || isNothing) return output.result({ dryRun: true, ...planned }, linesOf(planned, "Would remove"));
    for (const line of linesOf(planned, "Would remove")) console.error(line);
    if (!isInteractive()) throw new CommandError("confirmation_required", "Nothing was removed: confirm with --yes.");
    if (!(await confirm("Remove this?"))) throw new CommandError("confirmation_required", "Nothing was removed.");
  }
  const { result: removed } = await run(false, etag);
  output.result({ dryRun: false, ...removed }, linesOf(removed, "Removed"));
}

function linesOf({ releases, files, freedBytes, elsewhere }: Removed, verb: string): string[] {
  if (releases.length + files.length === 0) return ["Nothing to remove."];
  const size = freedBytes === undefined ? "" : ` (${formatBytes(freedBytes)})`;
  return [
    ...releases.map((id) => `${verb} ${id}`),
    ...files.map((file) => `${verb} the file ${file}`),
    `${countOf(releases, "release")}, ${countOf(files, "file")}${size}`,
    ...elsewhere.map((location) => `Not removed, because it is not in the catalog's folder: ${location}`),
  ];
}

const countOf = (all: readonly unknown[], name: string) => `${all.length} ${name}${all.length === 1 ? "" : "s"}`;
