import { mailOperations } from "@/lib/accounts/emails/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/email/events", {
  POST: mailOperations.receiveEmailEvents,
});
