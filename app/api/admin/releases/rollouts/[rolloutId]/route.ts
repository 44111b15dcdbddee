import { defineRoute } from "@/lib/platform/http/route";
import { rolloutOperations } from "@/lib/releases/rollouts/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/releases/rollouts/[rolloutId]",
  { GET: rolloutOperations.getRollout, PATCH: rolloutOperations.changeRollout },
);
