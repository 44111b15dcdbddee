import { notFound } from "next/navigation";
import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { pageContext } from "@/lib/auth/visitor";
import { continuingTo, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { type PageProps, readPage } from "../components/page-props";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { ProviderForm } from "../sign-in/provider-button";

const TEXTS = defineTexts({
  en: {
    title: "You are leaving this site",
    where: (brand: string, name: string, host: string) =>
      `${name} signs you in on its own site, ${host}, and returns you to ${brand}.`,
    go: (name: string) => `Continue to ${name}`,
    stay: "Stay here",
  },
  de: {
    title: "Sie verlassen diese Website",
    where: (brand, name, host) =>
      `${name} meldet Sie auf seiner eigenen Website an, ${host}, und bringt Sie zu ${brand} zurück.`,
    go: (name) => `Weiter zu ${name}`,
    stay: "Hier bleiben",
  },
});

export const generateMetadata = titleOf(TEXTS);

/** The notice before a sign-in provider's site, with AUTH_LEAVING_NOTICE (OWASP ASVS 5.0, 3.7.3). */
export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { query, texts } = await readPage(props, TEXTS);
  const provider = listSignInProviders(ctx).find(({ id }) => id === query.provider);
  if (!provider) notFound();
  const next = trustedUrl(query.callbackUrl, ctx.config, "/account");
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <p>{texts.where(ctx.config.BRAND_NAME, provider.name, provider.host)}</p>
      <ProviderForm id={provider.id} callbackUrl={next}>
        {texts.go(provider.name)}
      </ProviderForm>
      <p className="aside">
        <a href={continuingTo(next, "/sign-in")}>{texts.stay}</a>
      </p>
    </div>
  );
}
