import type { DefineCommandGroup } from "../../command";
import { move } from "./move";

/** `homeport db`. */
export const defineDb: DefineCommandGroup = (db) => {
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
