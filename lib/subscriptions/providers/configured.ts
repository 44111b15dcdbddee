import type { Config } from "../../config";
import type { Provider } from "./provider";
import { revenueCat } from "./revenuecat";
import { standardWebhooks } from "./standard-webhooks";

const PROVIDERS = [revenueCat, standardWebhooks];

/** Whose deliveries the webhook takes: `BILLING_PROVIDER`. */
export function configuredProvider({ BILLING_PROVIDER: name }: Pick<Config, "BILLING_PROVIDER">): Provider {
  return name === "standard-webhooks" ? standardWebhooks : revenueCat;
}

/** The provider that an event in the inbox came from; undefined for one that there is no reader for any more. */
export function providerNamed(name: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.name === name);
}
