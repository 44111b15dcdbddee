import { rolloutOperations } from "@/lib/admin/releases/rollouts/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/releases/rollouts/[rolloutId]",
  {
    GET: rolloutOperations.getRollout,
    PATCH: rolloutOperations.changeRollout,
  },
);
