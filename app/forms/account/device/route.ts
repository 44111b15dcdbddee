import { z } from "zod";
import { defineForm } from "@/lib/http/pages/form";
import { removeDevice } from "@/lib/push/devices";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/device", {
  summary: "Remove a device",
  page: "/account",
  auth: "account",
  fields: z.object({ id: z.string() }),
  handle: async ({ ctx, fields, visitor }) => {
    await removeDevice(ctx, visitor.account.id, fields.id);
    return { to: "/account?done=device_removed" };
  },
});
