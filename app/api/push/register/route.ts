import { defineRoute } from "@/lib/platform/http/route";
import { deviceOperations } from "@/lib/push/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/register", {
  POST: deviceOperations.registerDevice,
});
