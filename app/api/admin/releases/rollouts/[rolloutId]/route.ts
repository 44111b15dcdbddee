import { changeOne, getOne } from "@/app/api/admin/releases/rollouts/endpoints";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/releases/rollouts/[rolloutId]",
  {
    GET: getOne,
    PATCH: changeOne,
  },
);
