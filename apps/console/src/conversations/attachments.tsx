import type { JSX } from 'preact';

/**
 * Links to files. The page never loads the files, and shows the host of each link, because the sender of the message
 * chose the link. Characters in a file name that change the direction of text do not affect the host.
 */
export function Attachments({ of }: { of: readonly unknown[] }): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <ul class="attachments">
      {of.map((attachment, i) => {
        const { url, name } = factsOf(attachment);
        return (
          <li key={i} class="wrap">
            {url === undefined ? (
              <>
                Attachment: <bdi>{name ?? JSON.stringify(attachment)}</bdi>
              </>
            ) : (
              <a href={url.href} target="_blank" rel="noreferrer noopener">
                <bdi>{name ?? 'Attachment'}</bdi>{' '}
                <span class="quiet">
                  (<bdi>{url.host}</bdi>)
                </span>
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** The form of an attachment is not documented: it may be an object, or an address. */
function factsOf(attachment: unknown): { url: URL | undefined; name: string | undefined } {
  if (typeof attachment === 'string') return { url: webAddressOf(attachment), name: undefined };
  if (typeof attachment !== 'object' || attachment === null) return { url: undefined, name: undefined };
  const fields = new Map<string, unknown>(Object.entries(attachment));
  const name = [fields.get('name'), fields.get('fileName'), fields.get('filename')].find(
    (value) => typeof value === 'string' && value !== '',
  );
  return { url: webAddressOf(fields.get('url')), name: typeof name === 'string' ? name : undefined };
}

function webAddressOf(value: unknown): URL | undefined {
  if (typeof value !== 'string' || !/^https?:/i.test(value) || !URL.canParse(value)) return undefined;
  return new URL(value);
}
