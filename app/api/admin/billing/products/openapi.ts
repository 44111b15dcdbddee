import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listBillingProducts",
  description:
    "Lists every product that was bought, 500 at most, with the entitlements that its purchases give. A subscription without an entitlement is active, and gives access to nothing that an app checks by entitlement.",
  responses: {
    200: {
      description: "The products, by provider and id.",
      examples: {
        "A product without an entitlement": {
          products: [
            {
              provider: "stripe",
              productId: "prod_NWjs8kKbJWmuuc",
              purchases: 12,
              entitlementIds: [],
              configuredEntitlementIds: null,
              withoutEntitlement: 12,
            },
          ],
        },
      },
    },
  },
};
