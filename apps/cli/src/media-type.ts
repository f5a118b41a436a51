import { extname } from 'node:path';

/** Media types of the files that people send from phones and computers, by the extension of the name. */
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '.jpg': 'image/jpeg',
    '.jpeg': 'image/jpeg',
    '.png': 'image/png',
    '.gif': 'image/gif',
    '.webp': 'image/webp',
    '.heic': 'image/heic',
    '.heif': 'image/heif',
    '.avif': 'image/avif',
    '.tif': 'image/tiff',
    '.tiff': 'image/tiff',
    '.bmp': 'image/bmp',
    '.svg': 'image/svg+xml',
    '.mp4': 'video/mp4',
    '.m4v': 'video/x-m4v',
    '.mov': 'video/quicktime',
    '.3gp': 'video/3gpp',
    '.webm': 'video/webm',
    '.mp3': 'audio/mpeg',
    '.m4a': 'audio/mp4',
    '.aac': 'audio/aac',
    '.amr': 'audio/amr',
    '.caf': 'audio/x-caf',
    '.ogg': 'audio/ogg',
    '.wav': 'audio/wav',
    '.pdf': 'application/pdf',
    '.txt': 'text/plain',
    '.csv': 'text/csv',
    '.html': 'text/html',
    '.vcf': 'text/vcard',
    '.ics': 'text/calendar',
    '.json': 'application/json',
    '.zip': 'application/zip',
    '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    '.pkpass': 'application/vnd.apple.pkpass',
  }),
);

/** Returns the media type of a file by the extension of its name. Node.js has no such table. */
export function mediaTypeOf(path: string): string {
  return MEDIA_TYPES.get(extname(path).toLowerCase()) ?? 'application/octet-stream';
}
