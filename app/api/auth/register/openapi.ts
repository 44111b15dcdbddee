import { CREDENTIALS, SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

/** Shared with `/api/auth/signup`. */
export const registering = (operationId: string, note: string): OperationDetails => ({
  operationId,
  description: `${note}${TRANSPORT} If the service requires verified emails, it sends a link instead and returns 202, whether or not the email has an account.`,
  requests: {
    "A native app": { ...CREDENTIALS, name: "Ann", transport: "token", deviceName: "Ann's iPhone" },
    "A web app": { ...CREDENTIALS, name: "Ann" },
  },
  responses: {
    201: { description: "The account was created and is signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN },
    202: {
      description: "A verification link was sent.",
      examples: { "Verification required": { status: "verification_required" } },
    },
  },
});

export const POST = registering("register", "");
