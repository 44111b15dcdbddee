import { createInterface } from "node:readline/promises";
import type { ObjectStorage } from "../../lib/adapters/object-storage";
import { createObjectStorage } from "../../lib/adapters/s3";
import { type AddResult, addReleases } from "../../lib/admin/releases/add";
import { renderJson, renderTable } from "../../lib/admin/releases/list";
import { manifestFileOf, readManifest } from "../../lib/admin/releases/manifest/manifest-file";
import { ConfirmationRequiredError } from "../../lib/admin/releases/manifest/publishing-error";
import type { ReleaseDraft } from "../../lib/admin/releases/publish/draft";
import { filterReleases, findNewerServedReleases, updateReleases } from "../../lib/admin/releases/update";
import { verifyReleases } from "../../lib/admin/releases/verify";
import { type Config, loadConfig } from "../../lib/config";
import { runCommandLine, UsageError } from "../command-line";
import { FILTER_OPTIONS, flag, parseDraft, parseOptions, parsePercentage, resolveFromCaller } from "./release/draft";
import { drawProgress } from "./release/progress";

const HELP = `Usage: npm run release -- COMMAND [OPTIONS]

Publishes releases. A running service loads the changed catalog within a second.

  add FILE --product P --platform windows|macos|linux --arch A --version V
                              Publishes a file in a new or existing release. Options:
      --channel C             default: stable
      --kind installer|update default: installer. Repeat it if the file is both
      --notes TEXT|FILE       release notes in Markdown
      --notes-url URL         a page with the release notes
      --minimum-supported V   clients with older versions must update
      --minimum-system N      the oldest system version that the release runs on, such as 12.0
      --critical              all clients with older versions must update
      --rollout N             the percentage of clients that receive the release, default: 100
      --rollback              also offer the release to clients with a newer version
      --minisign FILE         the signature for Tauri (.sig)
      --minisign-key FILE     the product's public key for it (.pub); the catalog keeps it
      --ed-signature S        the signature for Sparkle and WinSparkle
      --ed-key KEY            the product's public key for it; the catalog keeps it
      --build-version N       the version that Sparkle compares, if it differs from V
      --phased-rollout-interval SECONDS
                              Sparkle's phased rollout
      --released-at TIME      default: now
      --id ID                 default: PRODUCT-PLATFORM-ARCH-VERSION
      --file-name NAME        default: the name of FILE
      --content-type TYPE     default: by the file name
      --s3                    upload FILE to the object storage
      --url URL               FILE is already available at this URL
      --new                   confirm a new product, architecture, channel or key
      --prerelease            confirm a prerelease on the stable channel
  list [--json]               Lists releases. Options: --product, --platform, --arch, --channel, --version
  rollout RELEASE N           Sets the rollout to N percent; 0 pauses it
  yank RELEASE [--undo]       Withdraws a release
  rollback RELEASE [--undo]   Also offers a release to clients with a newer version
  critical RELEASE [--undo]   Makes a release mandatory for all clients with older versions
  verify [--remote]           Hashes the files again; with --remote also those at URLs and in the object storage.
                              Takes the options of list

RELEASE is one or more ids, or --product P --version V with --platform, --arch or --channel.
--catalog FILE selects another catalog than the service's (RELEASE_CATALOG, or DATA_DIR/releases/catalog.json).
Exit code: 0 for success, 1 for an error, 2 for invalid arguments.`;

type CommandContext = { config: Config; storage: ObjectStorage | null };
type Command = (args: string[], context: CommandContext) => Promise<void>;
type FilterValues = { [name in keyof typeof FILTER_OPTIONS]?: string | undefined };

function manifestFile({ config }: CommandContext, { catalog }: FilterValues): string {
  if (catalog !== undefined) return resolveFromCaller(catalog);
  return manifestFileOf(config);
}

const toFilter = ({ arch, ...rest }: FilterValues, ids: string[] = []) => ({ ...rest, architecture: arch, ids });

async function add(args: string[], context: CommandContext): Promise<void> {
  const { draft, catalog } = await parseDraft(args, context.storage);
  const { releases, removedSamples, notes } = await publishOrConfirm(
    context,
    manifestFile(context, { catalog }),
    draft,
  );
  for (const note of notes) console.error(note);
  const outcomes = { added: "Published", changed: "Changed", unchanged: "Already published:" };
  for (const { id, outcome } of releases) console.log(outcomes[outcome], id);
  const samples = removedSamples.length;
  if (samples > 0) console.log(`Removed the ${samples} sample releases: the catalog now has only your own releases.`);
}

/** Asks for confirmation at a terminal if the draft looks like a mistake. */
async function publishOrConfirm(
  { storage }: CommandContext,
  manifest: string,
  draft: ReleaseDraft,
): Promise<AddResult> {
  const deps = { manifestFile: manifest, storage, now: () => new Date(), onProgress: drawProgress };
  try {
    return await addReleases(deps, [draft]);
  } catch (error) {
    const isInteractive = process.stdin.isTTY && process.stderr.isTTY;
    if (!(error instanceof ConfirmationRequiredError) || !isInteractive) throw error;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    const reply = await terminal.question(`${error.message}\nPublish anyway? [y/N] `);
    terminal.close();
    if (!/^y(es)?$/i.test(reply.trim())) throw error;
    return addReleases(deps, [{ ...draft, confirmations: { ...draft.confirmations, isNew: true } }]);
  }
}

async function rollout(args: string[], context: CommandContext): Promise<void> {
  const { values, positionals } = parseOptions(FILTER_OPTIONS, args, true);
  const percentage = parsePercentage(positionals.at(-1));
  const filter = toFilter(values, positionals.slice(0, -1));
  const outcome = percentage === 0 ? "paused" : `rolled out to ${percentage} %`;
  for (const id of await updateReleases(manifestFile(context, values), filter, { rollout: percentage })) {
    console.log(`${id}: ${outcome}`);
  }
}

/** Commands that set a flag of a release, and clear it with --undo. */
const FLAGS = {
  yank: { field: "yanked", set: "yanked", cleared: "no longer yanked" },
  rollback: { field: "rollback", set: "also offered to newer versions", cleared: "no longer a rollback" },
  critical: { field: "critical", set: "critical", cleared: "no longer critical" },
} as const;

function flagCommand(name: keyof typeof FLAGS): Command {
  const { field, set, cleared } = FLAGS[name];
  return async (args, context) => {
    const { values, positionals } = parseOptions({ ...FILTER_OPTIONS, undo: flag }, args, true);
    const { undo = false, ...filterValues } = values;
    const file = manifestFile(context, values);
    const ids = await updateReleases(file, toFilter(filterValues, positionals), { [field]: !undo });
    for (const id of ids) console.log(`${id}: ${undo ? cleared : set}`);
    if (name !== "rollback" || undo) return;
    for (const id of findNewerServedReleases((await readManifest(file)).releases, ids)) {
      console.log(
        `${id} is newer and still served, so its clients do not roll back: yank it, or set its rollout to 0.`,
      );
    }
  };
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const { values } = parseOptions({ ...FILTER_OPTIONS, json: flag }, args, false);
  const { releases } = await readManifest(manifestFile(context, values));
  const matching = filterReleases(releases, toFilter(values));
  if (matching.length === 0) console.error("No releases found.");
  if (matching.length > 0 || values.json) console.log(values.json ? renderJson(matching) : renderTable(matching));
}

async function verify(args: string[], context: CommandContext): Promise<void> {
  const { values } = parseOptions({ ...FILTER_OPTIONS, remote: flag }, args, false);
  const file = manifestFile(context, values);
  const matching = filterReleases((await readManifest(file)).releases, toFilter(values));
  const options = { remote: values.remote ?? false, storage: context.storage };
  const counts = { valid: 0, invalid: 0 };
  for await (const { id, kinds, location, problem } of verifyReleases(file, matching, options, drawProgress)) {
    counts[problem === null ? "valid" : "invalid"] += 1;
    if (problem !== null) console.error(`${id}${kinds.map((kind) => `, ${kind}`).join("")}, ${location}: ${problem}`);
  }
  console.log(`${counts.valid} valid, ${counts.invalid} invalid`);
  if (counts.invalid > 0) process.exitCode = 1;
}

const COMMANDS: Record<string, Command> = {
  add,
  list,
  rollout,
  yank: flagCommand("yank"),
  rollback: flagCommand("rollback"),
  critical: flagCommand("critical"),
  verify,
};

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined) return console.log(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`Unknown command: ${name}`);
  const config = loadConfig();
  await command(args, { config, storage: createObjectStorage(config, () => new Date()) });
}

runCommandLine(HELP, main);
