export const HELP = `Usage: npm run release -- COMMAND [OPTIONS]

Publishes releases. A running service loads the changed catalog within a second.

  add FILE --product P --platform windows|macos|linux --arch A --version V
                              Publishes a file in a new or existing release. Options:
      --channel C             default: stable
      --kind installer|update|other|delta
                              default: installer. Repeat it if the file is installer and update. "other" is a further
                              format beside them; "delta" needs --from V, the version that it turns into this one
      --id ID                 default: PRODUCT-PLATFORM-ARCH-VERSION
      --file-name NAME        default: the name of FILE
      --content-type TYPE     default: by the file name
      --minisign FILE         the signature for Tauri (.sig)
      --ed-signature S        the signature for Sparkle and WinSparkle
      --blockmap FILE         the block map for electron-updater; default: FILE.blockmap, else a new one
      --url URL               FILE is already available at this URL
    Fields of the release:
      --notes TEXT|FILE       release notes in Markdown
      --notes-url URL         a page with the release notes
      --minimum-supported V   clients with older versions must update
      --minimum-system N      the oldest system version that the release runs on, such as 12.0
      --requires-from V       clients with older versions are offered an older release first
      --critical              all clients with older versions must update
      --rollout N             the percentage of clients that receive the release, default: 100
      --rollout-series NAME   releases of one series are rolled out to the same clients first
      --rollback              also offer the release to clients whose newer version is yanked or paused
      --build-version N       the version that Sparkle compares, if it differs from V
      --phased-rollout-interval SECONDS
                              Sparkle's phased rollout
      --released-at TIME      default: now
    Checks and storage:
      --minisign-key FILE     the product's public key for Tauri (.pub); the catalog keeps it
      --ed-key KEY            the product's public key for Sparkle; the catalog keeps it
      --s3                    upload to the object storage
      --new                   confirm a new product, architecture, channel or key
      --prerelease            confirm a prerelease on the stable channel
  add-folder DIR --product P  Publishes what electron-builder, Tauri, Velopack or Squirrel.Windows have built, on all platforms
                              at once. Reads versions, architectures, signatures and notes from their files. Takes the
                              options for fields, checks and --s3, and:
      --channel C             default: as the tool says, else by the version
      --version V             the version to publish, if the folder has several
      --arch A                for files whose name has no architecture
      --dry-run               only list what would be published
  list                        Lists releases. Options: --product, --platform, --arch, --channel, --version
  edit RELEASE                Changes fields of a release: takes the options for fields. --no-critical and --no-rollback
                              undo a flag; --clear OPTION removes a field, such as --clear minimum-system
  rollout RELEASE N           Sets the rollout to N percent; 0 pauses it
  rollout RELEASE --steps 5,20,50,100 --every 24h
                              Advances the rollout by itself, and halts it when clients report failures or do not come
                              back. Options: --max-failures PERCENT (5), --min-reports N (50), --min-adoption PERCENT (10)
  rollout RELEASE --halt [--reason TEXT] | --resume
                              Halts a scheduled rollout; resumes it at the same step
  promote RELEASE --from C --to C
                              Offers the same build on another channel. Options: --rollout N, --new, --prerelease
  yank RELEASE [--undo]       Withdraws a release
  rollback RELEASE [--undo]   Also offers a release to clients whose newer version is yanked or paused
  critical RELEASE [--undo]   Makes a release mandatory for all clients with older versions
  remove RELEASE              Removes a release and its files from the catalog. Refuses one that is offered to clients:
                              yank it first, or pass --force. Options: --dry-run, --yes
  prune [--keep N] [--older-than AGE]
                              Removes files that no release has, and with a limit the releases beyond the N newest of
                              their channel, or older than AGE (12h, 90d, 8w). With both, only those that exceed both.
                              Keeps what a client may need. Options: --dry-run, --yes, and those of list
  verify [--remote]           Hashes the files again; with --remote also those at URLs and in the object storage.
                              Takes the options of list
  adoption [--product P] [--days N]
                              Shows who ran and downloaded which version by UTC day, default: 7 days. Reads the
                              database: with the embedded one, stop the service first

RELEASE is one or more ids or versions, or --product P --version V; --platform, --arch and --channel narrow the selection.
remove and prune ask before they remove anything. Without a terminal they need --yes; --dry-run only lists.
With HOMEPORT_URL and HOMEPORT_API_KEY, the commands use the API of that service instead of the files of this machine.
--catalog FILE selects another catalog than the service's (RELEASE_CATALOG, or DATA_DIR/releases/catalog.json).
--json prints the result, or { "error": { "code", "message" } }, as one JSON document.
Exit code: 0 for success, 1 for an error, 2 for invalid arguments.`;
