import { text } from "node:stream/consumers";
import { z } from "zod";
import { CommandError } from "../../../lib/errors";
import { postgresUrl } from "../../../lib/platform/config/database";
import { secretOf } from "../../../lib/platform/config/secrets";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked } from "../options";
import { confirm, drawShare, isInteractive } from "../terminal";
import { cancelEmbeddedMove, moveEmbedded } from "./db-move-embedded";
import { cancelServer, checkMove, moveServer } from "./db-move-server";
import { type Databases, type Moved, nextSteps } from "./db-next-steps";

type Options = {
  to?: string;
  from?: string;
  dryRun?: boolean;
  cancel?: boolean;
  yes?: boolean;
  insecureArgument?: boolean;
};

const LABELS = { copying: "Copying", indexing: "Indexing", finishing: "Finishing" } as const;

/** Draws how far a move is. */
const onProgress = ({ step, share }: { step: keyof typeof LABELS; share: number }) =>
  drawShare(LABELS[step], Math.min(share, 0.999));

/** @throws UsageError, CommandError canceled; MoveError, Error if the move fails */
async function move({ api, output }: CommandContext, given: Options): Promise<void> {
  const options = await withStandardInput(given);
  const databases = databasesOf(options);
  if (options.cancel) {
    await (databases.from ? cancelServer(databases.from) : cancelEmbeddedMove(api, databases.dataDir));
    return output.result({ canceled: true }, ["The move was discarded. The old database is used as before."]);
  }
  if (options.dryRun) {
    const { from, to, isContinued } = await checkMove(databases);
    return output.result({ from, to, isContinued }, [
      `${from} can be moved to ${to}${isContinued ? ": the interrupted move continues" : ""}. Nothing was changed.`,
    ]);
  }
  await requireYes(databases, options);
  const run = (): Promise<Moved> =>
    databases.from
      ? moveServer({ ...databases, from: databases.from }, onProgress)
      : moveEmbedded(api, databases, onProgress);
  const moved = await run().finally(() => drawShare("", 1));
  const { document, lines } = await nextSteps(databases, moved, options.to === undefined);
  output.result(document, lines);
}

/**
 * Replaces `-` by the URL in the standard input: everybody on the machine can read a command's arguments, and the URL has a
 * password. @throws UsageError if both URLs are there, or a password is in an argument
 */
async function withStandardInput({ to, from, ...options }: Options): Promise<Options> {
  if (!options.insecureArgument && [to, from].some(hasPassword)) {
    throw new UsageError(
      "Everybody on this machine can read the password in an argument: pass - and the URL in the standard input, or set --insecure-argument.",
    );
  }
  if (to !== "-" && from !== "-") return { to, from, ...options };
  if (to === from) throw new UsageError("The standard input contains one URL: pass the other one as an argument.");
  const url = (await text(process.stdin)).trim();
  return { to: to === "-" ? url : to, from: from === "-" ? url : from, ...options };
}

const hasPassword = (url: string | undefined): boolean =>
  url !== undefined && URL.canParse(url) && (new URL(url).password !== "" || /[?&]password=./.test(url));

/** @throws UsageError for databases that cannot be moved */
function databasesOf({ to, from, cancel }: Options): Databases {
  const { HOMEPORT_URL, DATA_DIR } = process.env;
  if (HOMEPORT_URL) throw new UsageError("db move moves the database of this folder: unset HOMEPORT_URL.");
  if (!to && !from && !cancel) throw new UsageError("db move: --to or --from is missing.");
  const urls = z.object({ to: postgresUrl.optional(), from: postgresUrl.optional() });
  checked(urls, { to, from }, { to: "--to", from: "--from" });
  const given = secretOf(process.env, "DATABASE_MIGRATE_URL") ?? secretOf(process.env, "DATABASE_URL");
  const own = given?.trim() ?? null;
  const databases = { from: from ?? own, to: to ?? (from ? own : null), dataDir: DATA_DIR?.trim() || "./data" };
  if (databases.to && databases.to === databases.from) throw new UsageError("--from and --to are the same database.");
  return databases;
}

async function requireYes({ from, to, dataDir }: Databases, { yes }: Options): Promise<void> {
  if (yes) return;
  if (!isInteractive()) throw new UsageError("db move: --yes is missing.");
  const question = `Move ${from ? "the PostgreSQL database" : dataDir} to ${to ? "PostgreSQL" : dataDir}? At the end, writes to the old database are refused.`;
  if (!(await confirm(question))) throw new CommandError("canceled", "Nothing was changed.");
}

export const defineDb: DefineCommandGroup = (db) => {
  db.command("migrate")
    .description("apply the pending migrations: on PostgreSQL at any time, on the embedded database while nothing runs")
    .run(async ({ output }) => {
      const { migrateDatabase } = await import("./db-migrate");
      const done = await migrateDatabase(output.note);
      output.result({ done }, [done]);
    });
  db.command("move")
    .description(
      "move all data to an empty database while the service runs: from this folder's database with --to, into it with " +
        "--from, or between two PostgreSQL databases. If it is interrupted, run it again to continue",
    )
    .option(
      "--to <url>",
      "the new PostgreSQL database, postgres://USER@HOST/DATABASE; - reads it, with its password, from the standard input",
    )
    .option("--from <url>", "the PostgreSQL database to move; - reads it from the standard input")
    .option("--dry-run", "check both databases without changing anything")
    .option("--cancel", "discard an interrupted move, or undo a complete one, and use the old database again")
    .option("--insecure-argument", "accept a password in --to or --from, which everybody on this machine can read")
    .option("--yes", "do not ask")
    .run(move);
};
