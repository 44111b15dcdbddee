import type { OperationDetails } from "@/scripts/openapi/operation";

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

export const GET: OperationDetails = {
  operationId: "getDatabaseMove",
  description:
    "Returns the progress of the move of the embedded database. A move ends when nobody has requested this for 20 seconds. Only for `homeport db move` on the service's machine.",
  responses: {
    200: { description: "The state of the move.", examples: { Running: RUNNING, Moved: MOVED, None: NONE } },
  },
};

export const POST: OperationDetails = {
  operationId: "moveDatabase",
  description:
    "Moves the embedded database to PostgreSQL in the background, or continues an interrupted move. While one is running or complete, returns its state if the target is the same. Reads and writes continue; writes wait while the last changes are copied, and get 503 afterwards, until the service is restarted with `DATABASE_URL`. Only for `homeport db move` on the service's machine.",
  requests: { PostgreSQL: { to: "postgres://homeport:secret@db.example.com/homeport" } },
  responses: { 200: { description: "The move has begun.", examples: { Running: RUNNING } } },
};

export const DELETE: OperationDetails = {
  operationId: "cancelDatabaseMove",
  description:
    "Ends the move and discards its progress. After a complete move, the service writes to the embedded database again. Only for `homeport db move --cancel` on the service's machine.",
  responses: { 200: { description: "There is no move.", examples: { None: NONE } } },
};
