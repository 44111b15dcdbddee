import { accountOperations } from "@/lib/accounts/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/apple/notifications", {
  POST: accountOperations.receiveAppleNotification,
});
