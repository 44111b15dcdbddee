import { CREDENTIALS, SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

/** Shared with `/api/auth/signup`. */
export const registering = (operationId: string, note: string): OperationDetails => ({
  operationId,
  description: `${note}${TRANSPORT} Where the service requires verified addresses, it mails a link instead and answers 202, whether the address has an account or not.`,
  requests: {
    "A native app": { ...CREDENTIALS, name: "Ann", transport: "token", deviceName: "Ann's iPhone" },
    "A web app": { ...CREDENTIALS, name: "Ann" },
  },
  responses: {
    201: { description: "Registered, and signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN },
    202: {
      description: "The link in the mail goes on from here.",
      examples: { "Look into the mailbox": { status: "verification_required" } },
    },
  },
});

export const POST = registering("register", "");
