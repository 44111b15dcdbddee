import { cancelMove, readMove, startMove } from "@/lib/admin/database/move";
import { DatabaseMove, NewDatabaseMove } from "@/lib/admin/database/schema";
import { commandLineOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

const common = { auth: { role: "admin" }, responses: { 200: DatabaseMove } } as const;
const move = { ...common, body: NewDatabaseMove, errors: ["move_in_progress" as const] };
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/database/move", {
  GET: endpoint({
    ...common,
    summary: "Show the move of the database",
    handle: ({ ctx, principal }) => commandLineOf(principal) && readMove(ctx),
  }),
  POST: endpoint({
    ...move,
    summary: "Move the database to PostgreSQL",
    handle: ({ ctx, principal, body }) => startMove(ctx, commandLineOf(principal), body),
  }),
  DELETE: endpoint({
    ...common,
    summary: "Cancel the move of the database",
    handle: ({ ctx, principal }) => cancelMove(ctx, commandLineOf(principal)),
  }),
});
