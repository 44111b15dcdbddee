import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createObjectStorage, type ObjectStorage } from "../lib/adapters/object-storage";
import { addRelease, type Destination, type Publication } from "../lib/admin/releases/add";
import { renderJson, renderTable } from "../lib/admin/releases/list";
import { readManifest } from "../lib/admin/releases/manifest-file";
import { ConfirmationRequiredError } from "../lib/admin/releases/publish-checks";
import { filterReleases, findNewerServedReleases, updateReleases } from "../lib/admin/releases/update";
import { verifyReleases } from "../lib/admin/releases/verify";
import { type Config, loadConfig } from "../lib/config";
import { isCatalogUrl } from "../lib/releases/catalog/catalog";
import { ArtifactKind } from "../lib/releases/schema";
import { runCommandLine, UsageError } from "./command-line";
import { drawProgress } from "./progress";

const HELP = `Publishes releases: changes the catalog that the service serves. It takes a change up within a second.

  npm run release -- add FILE --product P --platform windows|macos --arch A --version V [options]
      --channel C             stable unless you say beta or another
      --kind installer|update what it serves as; give both, one --kind each, where one file is both
      --notes TEXT|FILE       Markdown      --notes-url URL
      --minimum-supported V   older clients must update      --critical   everybody must
      --minimum-system N      the oldest system it runs on: 12.0. Tauri, Squirrel.Mac and WinSparkle compare none:
                              without systemVersion= they hear only of what needs no newer one than what they have
      --rollout N             per cent of the clients that get it: 100 unless you say less
      --rollback              offered to clients with a newer version too
      --minisign FILE.sig     Tauri's signature      --ed-signature S   Sparkle's
      --minisign-key FILE.pub and --ed-key KEY: the product's public keys, by which signatures are verified.
                              Name them once: the catalog keeps them
      --build-version N       what Sparkle compares, where it is not the version
      --phased-rollout-interval SECONDS       Sparkle's own phased rollout
      --released-at TIME      now, unless it was before       --id ID
      --file-name NAME        --content-type TYPE
      --new                   it is a new product, architecture, channel or key, and not a slip
      --prerelease            a prerelease for everybody, on stable
      --s3                    into the object storage      --url URL   it is there already
  npm run release -- list [--json] [--product P] [--platform P] [--arch A] [--channel C] [--version V]
  npm run release -- rollout WHICH N      0 pauses, 100 is everybody
  npm run release -- yank WHICH [--undo]  never served again
  npm run release -- rollback WHICH [--undo]
                                          offered to clients with a newer version too
  npm run release -- critical WHICH [--undo]
                                          everybody must update to it
  npm run release -- verify [--remote]    hashes every file again; with --remote also what lies elsewhere

WHICH is an ID, several, or --product P --version V [--platform P] [--arch A] [--channel C].
--catalog FILE is another catalog than the service's (RELEASE_CATALOG, DATA_DIR).
It ends with 0, with 1 where something is wrong, with 2 where it does not understand.`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const WHICH = { product: text, platform: text, arch: text, channel: text, version: text, catalog: text };
const RELEASE = {
  ...{ notes: text, "notes-url": text, "minimum-supported": text, "minimum-system": text, "build-version": text },
  ...{ "phased-rollout-interval": text, "released-at": text, id: text, rollout: text, critical: flag, rollback: flag },
};
const ARTIFACT = { "file-name": text, "content-type": text, minisign: text, "ed-signature": text, s3: flag, url: text };
const CHECKS = { "minisign-key": text, "ed-key": text, new: flag, prerelease: flag };

/** What every command works with. */
type CommandContext = { config: Config; storage: ObjectStorage | null };
type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>["options"]>;
type Selecting = { [name in keyof typeof WHICH]?: string | undefined };

/** Paths are meant from where npm was called, not from the package's folder. */
const here = (file: string) => path.resolve(process.env.INIT_CWD ?? ".", file);

function understand<T extends Options>(options: T, args: string[], allowPositionals: boolean) {
  return parseArgs({ args, options, allowPositionals, strict: true });
}

function manifestFile({ config }: CommandContext, { catalog }: Selecting): string {
  if (catalog !== undefined) return here(catalog);
  if (!isCatalogUrl(config.RELEASE_CATALOG)) {
    return path.resolve(config.RELEASE_CATALOG ?? path.join(config.DATA_DIR, "releases", "catalog.json"));
  }
  throw new UsageError("RELEASE_CATALOG is an address: name the file that it is made from with --catalog.");
}

const whichOf = ({ arch, ...rest }: Selecting, ids: string[] = []) => ({ ...rest, architecture: arch, ids });

function percent(given: string | undefined): number {
  const [, digits] = /^(\d{1,3}) ?%?$/.exec(given ?? "") ?? [];
  if (digits === undefined || Number(digits) > 100) throw new UsageError("How much? A whole number from 0 to 100.");
  return Number(digits);
}

function secondsOf(given: string | undefined): number | undefined {
  if (given !== undefined && !/^\d{1,9}$/.test(given)) throw new UsageError("How many seconds? A whole number.");
  return given === undefined ? undefined : Number(given);
}

function kindOf(given: string): ArtifactKind {
  const kind = ArtifactKind.options.find((known) => known === given);
  if (kind === undefined) throw new UsageError(`--kind is one of ${ArtifactKind.options.join(", ")}.`);
  return kind;
}

/** A file's text, or what was given; a name that can only be a file's is never taken for the text itself. */
async function textOrFile(given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return given;
  if (existsSync(here(given)) && statSync(here(given)).isFile()) return readFile(here(given), "utf8");
  if (/^\S+\.(md|txt|sig|minisig|pub)$/i.test(given)) throw new UsageError(`There is no file ${given}.`);
  return given;
}

function placeOf(
  { storage }: CommandContext,
  { url, s3 }: { url?: string | undefined; s3?: boolean | undefined },
): Destination {
  if (url !== undefined && s3) throw new UsageError("It lies at an address or in the storage, not in both.");
  if (url !== undefined) return { to: "url", url };
  if (!s3) return { to: "folder" };
  if (!storage) throw new UsageError("--s3 needs RELEASE_S3_ENDPOINT and the four variables that go with it.");
  return { to: "storage", storage };
}

async function add(args: string[], desk: CommandContext): Promise<void> {
  const options = { ...WHICH, ...RELEASE, ...ARTIFACT, ...CHECKS, kind: { ...text, multiple: true } } as const;
  const { values, positionals } = understand(options, args, true);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError("Which file? One, and only one.");
  const missing = (["product", "platform", "arch", "version"] as const).filter((name) => values[name] === undefined);
  if (missing.length > 0) throw new UsageError(`add needs ${missing.map((name) => `--${name}`).join(", ")}.`);
  const { product, platform, arch, version, channel, id, critical, rollback } = values;
  const publication: Publication = {
    file: here(file),
    kinds: (values.kind ?? ["installer"]).map(kindOf),
    destination: placeOf(desk, values),
    release: {
      ...{ id, product, platform, architecture: arch, version, channel, critical, rollback },
      notes: await textOrFile(values.notes),
      notesUrl: values["notes-url"],
      minimumSupportedVersion: values["minimum-supported"],
      minimumSystemVersion: values["minimum-system"],
      buildVersion: values["build-version"],
      phasedRolloutIntervalSeconds: secondsOf(values["phased-rollout-interval"]),
      releasedAt: values["released-at"],
      rollout: values.rollout === undefined ? undefined : percent(values.rollout),
    },
    artifact: {
      fileName: values["file-name"],
      contentType: values["content-type"],
      minisign: await textOrFile(values.minisign),
      edSignature: values["ed-signature"],
    },
    publicKeys: { minisign: await textOrFile(values["minisign-key"]), ed: values["ed-key"] },
    confirmations: { isNew: values.new, isPrerelease: values.prerelease },
  };
  const done = await publishOrAsk(manifestFile(desk, values), publication);
  for (const note of done.notes) console.error(note);
  console.log({ added: "Published", extended: "Changed", unchanged: "Was there already:" }[done.outcome], done.id);
  const samples = done.removedSamples.length;
  if (samples > 0) console.log(`Removed the ${samples} sample releases: the catalog now holds your own releases only.`);
}

/** Asks somebody at a terminal whether what looks like a slip is meant. */
async function publishOrAsk(manifest: string, publication: Publication): ReturnType<typeof addRelease> {
  const publish = (one: Publication) => addRelease(manifest, one, new Date(), drawProgress);
  try {
    return await publish(publication);
  } catch (error) {
    if (!(error instanceof ConfirmationRequiredError) || !process.stdin.isTTY || !process.stderr.isTTY) throw error;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    const said = await terminal.question(`${error.message}\nPublish it all the same? [y/N] `);
    terminal.close();
    if (!/^y(es)?$/i.test(said.trim())) throw error;
    return publish({ ...publication, confirmations: { ...publication.confirmations, isNew: true } });
  }
}

async function rollout(args: string[], desk: CommandContext): Promise<void> {
  const { values, positionals } = understand(WHICH, args, true);
  const share = percent(positionals.at(-1));
  const which = whichOf(values, positionals.slice(0, -1));
  const told = share === 0 ? "paused" : `rolled out to ${share} %`;
  for (const id of await updateReleases(manifestFile(desk, values), which, { rollout: share })) {
    console.log(`${id}: ${told}`);
  }
}

/** What a command turns on, and turns off again with --undo. */
const SWITCHES = {
  yank: { member: "yanked", on: "yanked", off: "served again" },
  rollback: { member: "rollback", on: "offered to newer versions too", off: "no rollback any more" },
  critical: { member: "critical", on: "everybody must update to it", off: "critical no more" },
} as const;

function turn(name: keyof typeof SWITCHES): Command {
  const { member, on, off } = SWITCHES[name];
  return async (args, desk) => {
    const { values, positionals } = understand({ ...WHICH, undo: flag }, args, true);
    const { undo = false, ...selecting } = values;
    const file = manifestFile(desk, values);
    const ids = await updateReleases(file, whichOf(selecting, positionals), { [member]: !undo });
    for (const id of ids) console.log(`${id}: ${undo ? off : on}`);
    if (member !== "rollback" || undo) return;
    for (const id of findNewerServedReleases((await readManifest(file)).releases, ids)) {
      console.log(`${id} is newer and still served, so nobody goes back from it: yank it, or roll it out to 0.`);
    }
  };
}

async function list(args: string[], desk: CommandContext): Promise<void> {
  const { values } = understand({ ...WHICH, json: flag }, args, false);
  const { releases } = await readManifest(manifestFile(desk, values));
  const shown = filterReleases(releases, whichOf(values));
  if (shown.length === 0) console.error("No releases found.");
  if (shown.length > 0 || values.json) console.log(values.json ? renderJson(shown) : renderTable(shown));
}

async function verify(args: string[], desk: CommandContext): Promise<void> {
  const { values } = understand({ ...WHICH, remote: flag }, args, false);
  const file = manifestFile(desk, values);
  const shown = filterReleases((await readManifest(file)).releases, whichOf(values));
  const reach = { remote: values.remote ?? false, storage: desk.storage };
  const counts = { good: 0, bad: 0 };
  for await (const { id, kinds, location: place, problem: fault } of verifyReleases(file, shown, reach, drawProgress)) {
    counts[fault === null ? "good" : "bad"] += 1;
    if (fault !== null) console.error(`${id} (${kinds.join(", ")}), ${place}: ${fault}`);
  }
  console.log(`${counts.good} as published, ${counts.bad} not.`);
  if (counts.bad > 0) process.exitCode = 1;
}

type Command = (args: string[], desk: CommandContext) => Promise<void>;
const SWITCHED = { yank: turn("yank"), rollback: turn("rollback"), critical: turn("critical") };
const COMMANDS: Record<string, Command> = { add, list, rollout, ...SWITCHED, verify };

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined) return console.log(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`There is no command ${name}.`);
  const config = loadConfig();
  await command(args, { config, storage: createObjectStorage(config, () => new Date()) });
}

runCommandLine(HELP, main);
