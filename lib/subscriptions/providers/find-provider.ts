import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { appStore } from "./app-store";
import { paddle } from "./paddle";
import type { Delivery, Provider } from "./provider";
import { revenueCat } from "./revenuecat";
import { standardWebhooks } from "./standard-webhooks";
import { stripe } from "./stripe";

const PROVIDERS: Provider[] = [revenueCat, standardWebhooks, stripe, paddle, appStore];

/** The provider of what operators grant. It delivers nothing. */
export const HOMEPORT = "homeport";

export const PROVIDER_NAMES = [...PROVIDERS.map(({ name }) => name), HOMEPORT];

/**
 * Returns the provider of a delivery: the one that the URL names, else the one whose signature it has, else the one
 * that `BILLING_PROVIDER` names. RevenueCat and Standard Webhooks share their variables, so that one of them is
 * configured.
 * @throws AppError webhook_not_configured
 */
export function providerOf(config: Config, delivery: Delivery): Provider {
  const defaultProvider: Provider = config.BILLING_PROVIDER === "standard-webhooks" ? standardWebhooks : revenueCat;
  const all: Provider[] = [defaultProvider, stripe, paddle, appStore];
  if (delivery.provider === undefined) return all.find((one) => one.recognizes(delivery, config)) ?? defaultProvider;
  const named = all.find(({ name }) => name === delivery.provider);
  if (!named) throw new AppError("webhook_not_configured");
  return named;
}

/** Returns a provider by its name in the database; undefined if this version does not have it. */
export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.name === name);
}
