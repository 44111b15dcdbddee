import { homedir } from "node:os";
import path from "node:path";
import { createObjectStorage } from "../../lib/adapters/s3";
import { manifestFileOf } from "../../lib/admin/releases/manifest/manifest-file";
import { loadConfig } from "../../lib/config";
import { isCatalogUrl } from "../../lib/releases/catalog/catalog";
import { runCommandLine, UsageError } from "../command-line";
import { publishDrafts } from "./release/add";
import { addFolder } from "./release/add-folder";
import { critical, edit, promote, rollback, yank } from "./release/change";
import type { Command, Open } from "./release/command";
import { parseDraft } from "./release/draft";
import { HELP } from "./release/help";
import { resolveFromCaller } from "./release/options";
import { createOutput } from "./release/output";
import { list, verify } from "./release/read";
import { prune, remove } from "./release/removal";
import { localStore } from "./release/store/local-store";
import { createHttpClient } from "./release/store/remote/http-client";
import { remoteStore } from "./release/store/remote/remote-store";
import { uploadMemory } from "./release/store/remote/upload-memory";
import { adoption } from "./rollout/adoption";
import { rollout } from "./rollout/rollout";

const add: Command = async (args, open) => {
  const { draft, values } = await parseDraft(args);
  const { store, output } = await open(values);
  await publishDrafts(store, output, [draft]);
};

const COMMANDS: Record<string, Command> = {
  add,
  "add-folder": addFolder,
  list,
  edit,
  rollout,
  promote,
  yank,
  rollback,
  critical,
  remove,
  prune,
  verify,
  adoption,
};

const open: Open = async ({ catalog, json = false }) => {
  const { HOMEPORT_URL, HOMEPORT_API_KEY, XDG_CACHE_HOME } = process.env;
  if (HOMEPORT_URL) {
    if (catalog !== undefined) throw new UsageError("--catalog and HOMEPORT_URL exclude each other.");
    const memory = uploadMemory(path.join(XDG_CACHE_HOME ?? path.join(homedir(), ".cache"), "homeport-release"));
    const store = remoteStore(createHttpClient(HOMEPORT_URL, HOMEPORT_API_KEY), memory);
    return { store, output: createOutput(json) };
  }
  const config = loadConfig();
  if (catalog === undefined && isCatalogUrl(config.RELEASE_CATALOG)) {
    throw new UsageError("RELEASE_CATALOG is a URL: select the file that is published there with --catalog.");
  }
  const manifestFile = catalog === undefined ? manifestFileOf(config) : resolveFromCaller(catalog);
  const storage = createObjectStorage(config, () => new Date());
  return { store: localStore(manifestFile, storage), output: createOutput(json) };
};

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined) return console.log(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`Unknown command: ${name}`);
  await command(args, open);
}

runCommandLine(HELP, main);
