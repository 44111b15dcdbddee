import { z } from "zod";
import { defineForm } from "@/lib/platform/http/pages/form";
import { removeDevice } from "@/lib/push/devices";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/device", {
  summary: "Remove a device",
  page: "/account",
  session: true,
  body: z.object({ id: z.string() }),
  handle: async ({ ctx, body, principal }) => {
    await removeDevice(ctx, principal.account.id, body.id);
    return { to: "/account?done=device_removed" };
  },
});
