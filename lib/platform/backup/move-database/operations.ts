import { operation } from "../../../operation";
import { commandLineOf } from "../../audit/operator";
import { cancelMove, readMove, startMove } from "./move";
import { DatabaseMove, NewDatabaseMove } from "./schema";

const TO = "postgres://homeport@db.example.com/homeport";

const RUNNING = { state: "running", to: TO, step: "copying", share: 0.42, result: null, error: null };

const MOVED = {
  ...RUNNING,
  state: "moved",
  step: "finishing",
  share: 1,
  result: { rows: 1_204_331, tables: 44, resumedTables: 0, pausedMs: 2840 },
};

const NONE = { ...RUNNING, state: "none", to: null, step: null, share: 0 };

export const databaseOperations = {
  getDatabaseMove: operation({
    id: "getDatabaseMove",
    summary: "Show the move of the database",
    description:
      "Returns the progress of the move of the embedded database. A move ends when nobody has requested this for 20 seconds. Only for `homeport db move` on the service's machine.",
    role: "admin",
    response: {
      description: "The state of the move.",
      schema: DatabaseMove,
      examples: { Running: RUNNING, Moved: MOVED, None: NONE },
    },
    run: ({ ctx, principal }) => commandLineOf(principal) && readMove(ctx),
  }),

  moveDatabase: operation({
    id: "moveDatabase",
    summary: "Move the database to PostgreSQL",
    description:
      "Moves the embedded database to PostgreSQL in the background, or continues an interrupted move. While one is running or complete, returns its state if the target is the same. Reads and writes continue; writes wait while the last changes are copied, and get 503 afterwards, until the service is restarted with `DATABASE_URL`. Only for `homeport db move` on the service's machine.",
    role: "admin",
    body: NewDatabaseMove,
    errors: ["move_in_progress"],
    examples: { PostgreSQL: { to: "postgres://homeport:secret@db.example.com/homeport" } },
    response: { description: "The move has begun.", schema: DatabaseMove, examples: { Running: RUNNING } },
    run: ({ ctx, principal, body }) => startMove(ctx, commandLineOf(principal), body),
  }),

  cancelDatabaseMove: operation({
    id: "cancelDatabaseMove",
    summary: "Cancel the move of the database",
    description:
      "Ends the move and discards its progress. After a complete move, the service writes to the embedded database again. Only for `homeport db move --cancel` on the service's machine.",
    role: "admin",
    response: { description: "There is no move.", schema: DatabaseMove, examples: { None: NONE } },
    run: ({ ctx, principal }) => cancelMove(ctx, commandLineOf(principal)),
  }),
};
