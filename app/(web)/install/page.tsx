import { notFound } from "next/navigation";
import { pageContext } from "@/lib/auth/visitor";
import { listTools } from "@/lib/platform/tools";
import { CopyButton } from "../components/copy-button";
import { Notice } from "../components/notice";
import { Checksum, formatSize } from "../download/product";
import { pageLocale, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Tools for developers",
    lead: "The command line and the JavaScript client of this service, as npm packages of its own version. They need Node.js 20.19 or newer.",
    none: "The service was not built with `npm run build`, so it has no packages.",
    homeport: "Command line",
    homeportLead:
      "Publishes releases, and operates the service. It needs an API key; a CI job that is a publisher needs none.",
    client: "JavaScript client",
    clientLead:
      "Sign-in, subscription status, update checks and push notifications, for browsers, Electron, Tauri and Node.js.",
    keep: "Stay on this version",
    keepLead:
      "The service hands out its own version alone. Keep the file in your app's repository if builds must not change with the service.",
  },
  de: {
    title: "Werkzeuge für Entwickler",
    lead: "Die Kommandozeile und der JavaScript-Client dieses Dienstes, als npm-Pakete in seiner Version. Sie brauchen Node.js 20.19 oder neuer.",
    none: "Der Dienst wurde nicht mit `npm run build` gebaut und hat daher keine Pakete.",
    homeport: "Kommandozeile",
    homeportLead:
      "Veröffentlicht Versionen und bedient den Dienst. Sie braucht einen API-Schlüssel; ein CI-Job, der veröffentlichen darf, braucht keinen.",
    client: "JavaScript-Client",
    clientLead:
      "Anmeldung, Abonnement, Suche nach Updates und Push-Mitteilungen, für Browser, Electron, Tauri und Node.js.",
    keep: "Bei dieser Version bleiben",
    keepLead:
      "Der Dienst gibt nur seine eigene Version heraus. Bewahren Sie die Datei im Repository Ihrer App auf, wenn deren Builds sich nicht mit dem Dienst ändern sollen.",
  },
});

export const generateMetadata = titleOf(TEXTS);

/** How to run and install the tools that come with the service. */
export default async function Page() {
  const { config } = pageContext();
  const tools = (await listTools(config)) ?? notFound();
  const locale = await pageLocale();
  const texts = TEXTS[locale];
  return (
    <>
      <h1>{texts.title}</h1>
      <p className="lead">{texts.lead}</p>
      {tools.length === 0 && <Notice>{texts.none}</Notice>}
      {tools.map(({ name, fileName, sizeBytes, sha256, url }) => (
        <section key={name} className="card" aria-labelledby={name}>
          <h2 id={name}>{texts[name]}</h2>
          <p>{texts[`${name}Lead`]}</p>
          <Command name={texts[name]} text={commandOf(name, url, config.baseUrl)} />
          <p>
            <a href={url}>{fileName}</a>, {formatSize(sizeBytes, locale)}
          </p>
          <Checksum sha256={sha256} />
        </section>
      ))}
      {tools.map(
        ({ name, fileName, url }) =>
          name === "client" && (
            <section key={name} className="card" aria-labelledby="keep">
              <h2 id="keep">{texts.keep}</h2>
              <p>{texts.keepLead}</p>
              <Command name={texts.keep} text={`curl -fO ${url} && npm install ./${fileName}`} />
            </section>
          ),
      )}
    </>
  );
}

function commandOf(name: "homeport" | "client", url: string, baseUrl: string): string {
  return name === "client"
    ? `npm install ${url}`
    : `HOMEPORT_URL=${baseUrl} HOMEPORT_API_KEY=… npx --yes ${url} --help`;
}

function Command({ name, text }: { name: string; text: string }) {
  return (
    <div className="command">
      <code>{text}</code>
      <CopyButton text={text} name={name} />
    </div>
  );
}
