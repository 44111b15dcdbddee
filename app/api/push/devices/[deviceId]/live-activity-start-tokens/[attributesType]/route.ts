import { defineRoute } from "@/lib/http/route";
import { deleteOne, registerOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/push/devices/[deviceId]/live-activity-start-tokens/[attributesType]",
  {
    PUT: registerOne,
    DELETE: deleteOne,
  },
);
