import type { Block, EmailTexts, FactorName } from "./emails";

const TIME = new Intl.DateTimeFormat("de-DE", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
const DAY = new Intl.DateTimeFormat("de-DE", { dateStyle: "medium", timeZone: "UTC" });

const FACTORS: Record<FactorName, string> = {
  totp: "einer Authenticator-App",
  recovery_codes: "neuen Wiederherstellungscodes",
  passkey: "einem Passkey",
};

const notMe = (link: string): Block[] => [
  "Wenn Sie das nicht waren, hat jemand anderes Zugang zu Ihrem Konto. Melden Sie alle Geräte ab und legen Sie ein neues Passwort fest:",
  { link, label: "Das war ich nicht" },
];

export const de: EmailTexts = {
  greeting: "Guten Tag,",
  footer: (brand, host) => `Diese E-Mail betrifft Ihr Konto bei ${brand} (${host}).`,
  operatorFooter: (host) => `Sie betreiben den Dienst unter ${host}.`,
  support: (contact) => `Brauchen Sie Hilfe? ${contact}`,
  imprint: (url) => `Impressum: ${url}`,
  onDevice: "Wenn Sie das nicht waren, melden Sie auf Ihrer Kontoseite alle Geräte ab.",
  emails: {
    password_reset: (to, { link, ttlMinutes }) => [
      "Passwort zurücksetzen",
      `Wir wurden gebeten, das Passwort Ihres Kontos (${to}) zurückzusetzen.`,
      `Über diesen Link wählen Sie ein neues. Er funktioniert einmal, innerhalb von ${ttlMinutes} Minuten:`,
      { link, label: "Passwort zurücksetzen" },
      "Wenn Sie das nicht veranlasst haben, ignorieren Sie diese E-Mail: Ihr Passwort bleibt, wie es ist.",
    ],
    invitation: (to, { brand, link, expiresAt }) => [
      `Richten Sie Ihr Konto bei ${brand} ein`,
      `Für Sie (${to}) gibt es ein Konto bei ${brand}.`,
      `Über diesen Link wählen Sie ein Passwort oder einen Passkey. Er funktioniert einmal, bis zum ${TIME.format(expiresAt)} UTC:`,
      { link, label: "Konto einrichten" },
      "Wenn er nicht mehr funktioniert, schickt Ihnen „Passwort vergessen?“ auf der Anmeldeseite einen neuen.",
      "Wenn Sie das nicht erwartet haben, ignorieren Sie diese E-Mail.",
    ],
    password_changed: (to, { accountUrl, notMeLink, providers }) => [
      "Ihr Passwort wurde geändert",
      `Das Passwort Ihres Kontos (${to}) wurde geändert.`,
      "Wenn Sie das waren, müssen Sie nichts tun.",
      "Wenn nicht, kann jemand anderes Ihre E-Mails lesen oder kennt Ihr Passwort. Ändern Sie zuerst das Passwort Ihres Postfachs. Melden Sie dann alle Geräte ab und legen Sie ein neues Passwort fest:",
      { link: notMeLink, label: "Das war ich nicht" },
      ...linkedProviders(providers, accountUrl),
    ],
    email_verification: (to, { link, ttlHours, isAgain }) => [
      "Bestätigen Sie Ihre E-Mail-Adresse",
      isAgain
        ? `Unsere E-Mails an ${to} haben Sie zuletzt nicht erreicht.`
        : `Jemand, vermutlich Sie selbst, hat ein Konto für ${to} angelegt.`,
      `Um zu bestätigen, dass dies Ihre Adresse ist, öffnen Sie diesen Link innerhalb von ${ttlHours} Stunden:`,
      { link, label: "E-Mail-Adresse bestätigen" },
      isAgain
        ? "Öffnen Sie ihn in einem Browser, in dem Sie angemeldet sind."
        : "Die Seite fragt nach dem Passwort, das Sie gewählt haben. Wenn Sie sich stattdessen über einen Anbieter angemeldet haben, öffnen Sie den Link im selben Browser.",
      "Wenn Sie das nicht waren, bestätigen Sie nicht: Dann kann niemand sagen, dass diese Adresse ihm gehört.",
    ],
    registered_already: (to, { forgotUrl }) => [
      "Sie haben bereits ein Konto",
      `Jemand, vermutlich Sie selbst, wollte sich mit ${to} registrieren.`,
      "Sie haben bereits ein Konto und können sich damit anmelden. Wenn Sie Ihr Passwort vergessen haben, legen Sie ein neues fest:",
      { link: forgotUrl, label: "Neues Passwort festlegen" },
      "Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: Es hat sich nichts geändert.",
    ],
    new_sign_in: (to, { client, network, at, notMeLink }) => [
      "Neue Anmeldung bei Ihrem Konto",
      `Jemand hat sich bei Ihrem Konto (${to}) mit einem Gerät angemeldet, das dort noch nicht benutzt wurde.`,
      {
        facts: [
          ["Zeit", `${TIME.format(at)} UTC`],
          ["Gerät", client ?? "unbekannt"],
          ["Netz", network ?? "unbekannt"],
        ],
      },
      "Wenn Sie das waren, müssen Sie nichts tun.",
      ...notMe(notMeLink),
    ],
    factor_added: (to, { factor, notMeLink }) => [
      "Neue Anmeldemethode hinzugefügt",
      `Sie können sich jetzt mit ${FACTORS[factor]} bei Ihrem Konto (${to}) anmelden.`,
      ...notMe(notMeLink),
    ],
    factor_removed: (to, { factor, notMeLink }) => [
      "Anmeldemethode entfernt",
      REMOVED_FACTORS[factor](to),
      ...notMe(notMeLink),
    ],
    email_change_confirm: (to, { link, ttlHours }) => [
      "Bestätigen Sie Ihre neue E-Mail-Adresse",
      `Jemand, vermutlich Sie selbst, möchte ${to} für ein Konto verwenden. Um das zu bestätigen, öffnen Sie innerhalb von ${ttlHours} Stunden diesen Link, während Sie bei diesem Konto angemeldet sind:`,
      { link, label: "Neue Adresse bestätigen" },
      "Wenn Sie das nicht waren, bestätigen Sie nicht: Es ändert sich nichts.",
    ],
    email_in_use: (to, { forgotUrl }) => [
      "Diese E-Mail-Adresse wird schon verwendet",
      `Jemand, vermutlich Sie selbst, möchte ${to} für ein anderes Konto verwenden.`,
      "Sie haben schon ein Konto mit dieser Adresse, deshalb ist das nicht möglich. Melden Sie sich dort an und ändern Sie zuerst dessen Adresse, oder löschen Sie es. Wenn Sie Ihr Passwort vergessen haben, legen Sie ein neues fest:",
      { link: forgotUrl, label: "Neues Passwort festlegen" },
      "Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: Es ändert sich nichts.",
    ],
    email_change_notice: (to, { newEmail, undoLink, undoDays }) => [
      "Die E-Mail-Adresse Ihres Kontos ändert sich",
      `Die E-Mail-Adresse Ihres Kontos ändert sich von ${to} zu ${newEmail}, sobald die neue Adresse bestätigt ist.`,
      "Wenn Sie das waren, müssen Sie nichts tun.",
      `Wenn nicht, hat jemand anderes Zugang zu Ihrem Konto. Dieser Link macht die Änderung rückgängig und meldet alle Geräte ab. Er funktioniert bis ${undoDays} Tage nach der Änderung:`,
      { link: undoLink, label: "Das war ich nicht" },
    ],
    email_changed: (to, { notMeLink }) => [
      "Ihre E-Mail-Adresse wurde geändert",
      `Die E-Mail-Adresse Ihres Kontos ist jetzt ${to}. Melden Sie sich damit an.`,
      ...notMe(notMeLink),
    ],
    identity_linked: (to, { provider, hasPassword, notMeLink }) => [
      "Neue Anmeldemethode hinzugefügt",
      `Sie können sich jetzt mit ${provider} bei Ihrem Konto (${to}) anmelden.`,
      ...(hasPassword
        ? []
        : [
            "Ihr Konto hat kein Passwort: Eines, das vor der Bestätigung der E-Mail-Adresse festgelegt wurde, funktioniert nicht mehr. Sie können ein neues festlegen.",
          ]),
      "Wenn Sie das nicht waren, hat jemand anderes Zugang zu Ihrem Konto. Melden Sie alle Geräte ab und legen Sie ein neues Passwort fest. Entfernen Sie dann den Anbieter auf Ihrer Kontoseite:",
      { link: notMeLink, label: "Das war ich nicht" },
    ],
    identity_unlinked: (to, { provider, byProvider, notMeLink }) => [
      "Anmeldemethode entfernt",
      byProvider
        ? `${provider} meldet Sie nicht mehr bei Ihrem Konto (${to}) an, weil Sie das dort beendet haben. Geräte, auf denen ein Anbieter Sie angemeldet hatte, wurden abgemeldet. Melden Sie sich anders an, zum Beispiel mit Ihrem Passwort.`
        : `${provider ?? "Ein Anbieter"} wurde von Ihrem Konto (${to}) entfernt, und alle anderen Geräte wurden abgemeldet.`,
      ...notMe(notMeLink),
    ],
    account_deleted: (to) => [
      "Ihr Konto wurde gelöscht",
      `Ihr Konto (${to}) wurde gelöscht, mit seinen Sitzungen, Geräten und Einstellungen. Das lässt sich nicht rückgängig machen.`,
      "Ein Abonnement, das Sie in einem App-Store gekauft haben, läuft weiter, bis Sie es dort kündigen.",
      "Wenn Sie das nicht waren, hatte jemand anderes Zugang zu Ihrem Konto. Antworten Sie auf diese E-Mail.",
    ],
    rollout_halted: (_, { product, version, reason }) => [
      `Die Einführung von ${product} ${version} wurde angehalten`,
      `Der Dienst hat die Einführung von ${product} ${version} angehalten. Niemand sonst bekommt diese Version angeboten; wer sie hat, behält sie.`,
      { facts: [["Grund", reason]] },
      "Setzen Sie die Einführung mit dem Befehl homeport release fort, oder beenden Sie sie. Bisherige Meldungen der Clients zählen dann nicht mehr.",
    ],
    webhook_disabled: (_, { url, reason }) => [
      "Ein Webhook-Endpunkt wurde deaktiviert",
      reason === "gone"
        ? "Ein Webhook-Endpunkt hat mit 410 Gone geantwortet. Er bekommt keine Zustellungen mehr."
        : "Ein Webhook-Endpunkt ist seit fünf Tagen nicht erreichbar oder antwortet mit Fehlern. Er bekommt keine Zustellungen mehr.",
      { facts: [["URL", url]] },
      "Aktivieren Sie ihn in der Konsole, sobald er wieder funktioniert, und wiederholen Sie die verpassten Zustellungen. Ereignisse werden 30 Tage lang aufbewahrt.",
    ],
    policy_loosened: (_, { product, before, after, at, auditUrl }) => [
      `Die Richtlinie für Versionen von ${product} wird gelockert`,
      `Ein Administrator hat geändert, was Versionen von ${product} brauchen, um veröffentlicht zu werden. Die Änderung gilt erst nach 24 Stunden.`,
      {
        facts: [
          ["Zeit", `${TIME.format(at)} UTC`],
          ["Bis dahin", before],
          ["Danach", after],
        ],
      },
      "Wenn das falsch ist, setzen Sie die Richtlinie vorher zurück, und sehen Sie im Protokoll nach, wer sie geändert hat:",
      { link: auditUrl, label: "Protokoll öffnen" },
    ],
    publisher_added: (_, { name, product, ref, publisherUrl }) => [
      `${name} darf ${product} veröffentlichen`,
      `Ein Administrator hat einen Publisher hinzugefügt: Dessen CI-Jobs veröffentlichen Versionen von ${product} ohne API-Schlüssel. Für Richtlinien zählt er nach 24 Stunden.`,
      {
        facts: [
          ["Publisher", name],
          ["Ref", ref],
        ],
      },
      "Wenn das falsch ist, entfernen Sie den Publisher, und sehen Sie im Protokoll nach, wer ihn hinzugefügt hat:",
      { link: publisherUrl, label: "Publisher öffnen" },
    ],
  },
};

const REMOVED_FACTORS: Record<FactorName, (to: string) => string> = {
  totp: (to) => `Die Authenticator-App wurde von Ihrem Konto (${to}) entfernt.`,
  recovery_codes: (to) => `Die Wiederherstellungscodes Ihres Kontos (${to}) wurden entfernt.`,
  passkey: (to) => `Ein Passkey wurde von Ihrem Konto (${to}) entfernt.`,
};

function linkedProviders(providers: { title: string; linkedAt: Date }[], accountUrl: string): Block[] {
  if (providers.length === 0) return [];
  return [
    "Diese Anbieter können sich weiterhin bei Ihrem Konto anmelden. Entfernen Sie auf Ihrer Kontoseite alle, die Sie nicht kennen:",
    { list: providers.map(({ title, linkedAt }) => `${title}, seit ${DAY.format(linkedAt)}`) },
    { link: accountUrl, label: "Konto öffnen" },
  ];
}
