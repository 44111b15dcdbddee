import { operation } from "../../operation";
import { RouteResponse } from "../../platform/http-message";
import { appleAppSiteAssociation, digitalAssetLinks } from "./app-associations";
import { AppleAppSiteAssociation, DigitalAssetLinks } from "./schema";

const FINGERPRINT = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16).toUpperCase()).join(":");

export const passkeyDomainOperations = {
  getAppleAppSiteAssociation: operation({
    id: "getAppleAppSiteAssociation",
    summary: "List the Apple apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_APPLE_APPS`, as Apple's systems read them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: AppleAppSiteAssociation,
      examples: { "One app": { webcredentials: { apps: ["ABCDE12345.com.example.app"] } } },
    },
    run: ({ ctx }) =>
      new RouteResponse(200, appleAppSiteAssociation(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),

  getDigitalAssetLinks: operation({
    id: "getDigitalAssetLinks",
    summary: "List the Android apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_ANDROID_APPS`, as Android reads them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: DigitalAssetLinks,
      examples: {
        "One app": [
          {
            relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
            target: {
              namespace: "android_app",
              package_name: "com.example.app",
              sha256_cert_fingerprints: [FINGERPRINT],
            },
          },
        ],
      },
    },
    run: ({ ctx }) =>
      new RouteResponse(200, digitalAssetLinks(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),
};
