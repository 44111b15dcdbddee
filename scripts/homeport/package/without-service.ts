import { readFileSync } from "node:fs";
import { CommandError } from "../../../lib/errors";
import { UsageError } from "../../command-line";
import type { DefineCommandGroup } from "../command";
import type { HttpClient } from "../transport/http-client";

/*
 * What the package `@homeport/cli` has in place of the modules that need the service's own files, under their names.
 * scripts/build/tools.mjs lists the modules.
 */

export function commandVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

export const WITHOUT_URL =
  "db, backup, restore, export, import and first-operator work on the service's own files: run them on its machine.";

/** There are none: a `.env` in the caller's folder is another program's. Paths are relative to that folder. */
export function loadSettings(): void {
  process.env.INIT_CWD = process.cwd();
}

/** There is none: the first request is refused, so that a command can refuse its arguments before. */
export function openServiceHere(): { client: HttpClient; close: () => Promise<void> } {
  const ask = (): never => {
    throw new UsageError("Set HOMEPORT_URL to the URL of the service, and HOMEPORT_API_KEY to one of its API keys.");
  };
  return {
    client: { url: "", retryDelayMs: 0, send: ask, json: ask, jsonWithTag: ask, text: ask },
    close: async () => {},
  };
}

/** @throws CommandError service_files_required */
function refuse(): never {
  throw new CommandError(
    "service_files_required",
    "This command works on the service's own files, which this package does not have. Run it on the service's machine: as " +
      "`homeport` where the Debian package is installed, else with scripts/bin/homeport.mjs in the service's folder.",
  );
}

/** A group whose commands all need the service's files. Takes any arguments. */
const refuseAll: DefineCommandGroup = (group) => {
  group.argument("[arguments...]").allowUnknownOption().action(refuse);
};

export {
  refuse as openCatalogFile,
  refuse as rotateKeys,
  refuseAll as defineBackup,
  refuseAll as defineDb,
  refuseAll as defineExport,
  refuseAll as defineFirstOperator,
  refuseAll as defineImport,
  refuseAll as defineRestore,
};
