import { defineRoute } from "@/lib/platform/http/route";
import { rolloutOperations } from "@/lib/releases/rollouts/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/rollouts", {
  GET: rolloutOperations.listRollouts,
  POST: rolloutOperations.scheduleRollout,
});
