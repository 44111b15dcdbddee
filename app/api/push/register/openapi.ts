import { ACTIVE, CHALLENGE, DEVICE, REGISTRATION } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "registerDevice",
  description:
    "Call it at every launch. A device that is new, or has moved, gets a challenge: its nonce goes out through APNs alone, and comes back here with App Attest evidence over both. Until then nothing is pushed to the device, and an active device whose installation registers another token keeps the one that it has proved. A token belongs to whoever proved it last.",
  requests: {
    "At a launch": REGISTRATION,
    "With evidence": {
      ...REGISTRATION,
      evidence: {
        type: "app_attest",
        challengeId: CHALLENGE.id,
        pushNonce: "Vb3nK8qRz5tYw1xLc7sDf0gHj2mP4aEuIoQ6rTyUiZk",
        keyId: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
        assertion: "omlzaWduYXR1cmVYRzBFAiEA",
      },
    },
  },
  responses: {
    200: {
      description: "Active: what is pushed to the account comes here.",
      examples: { Active: { device: ACTIVE } },
    },
    202: {
      description: "Pending: the nonce is on its way through APNs.",
      examples: {
        Challenged: { device: DEVICE, challenge: CHALLENGE },
        "After a challenge that APNs refused": {
          device: { ...DEVICE, pendingReason: "BadDeviceToken" },
          challenge: CHALLENGE,
        },
      },
    },
  },
};
