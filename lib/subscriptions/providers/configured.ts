import type { Config } from "../../config";
import type { Provider } from "./provider";
import { revenueCat } from "./revenuecat";
import { standardWebhooks } from "./standard-webhooks";

const PROVIDERS = [revenueCat, standardWebhooks];

/** The names of all providers in the database. */
export const PROVIDER_NAMES = PROVIDERS.map(({ name }) => name);

/** Returns the provider that `BILLING_PROVIDER` selects. */
export function configuredProvider({ BILLING_PROVIDER: name }: Pick<Config, "BILLING_PROVIDER">): Provider {
  return name === "standard-webhooks" ? standardWebhooks : revenueCat;
}

/** Returns a provider by its name in the database; undefined if this version does not have it. */
export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.name === name);
}
