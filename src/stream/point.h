/* Points in streams' orders that owners of memory remember: what was freed at
 * a point may be used again by whatever comes after it. A place names a point
 * for good, also when its stream is gone; its mark says whether it is done. */
#ifndef FL_STREAM_POINT_H
#define FL_STREAM_POINT_H

#include "stream/stream.h"

struct mark;
struct marks;

struct place {
    struct stream *stream;
    uint64_t id;                   /* of the stream: streams are used again */
    uint64_t number;               /* of the stream's points, from 1 */
};

/* The point behind all that was issued into s, and what that comes after. *mark is a reference,
 * or NULL if all is done. */
CUresult stream_point(struct stream *s, struct place *place, struct mark **mark);
/* The same for another stream, to come after it with what s knows of further streams. */
CUresult stream_mark(struct stream *s, struct mark **mark);
CUresult stream_follow(struct stream *s, struct mark *m);
/* Whether nothing is left to do of what was issued into s. */
bool stream_done(struct stream *s);
bool point_done(struct mark *m);       /* NULL: yes */
struct mark *point_share(struct mark *m); /* another reference */
void point_release(struct mark *m);
/* The points behind all that was issued into any stream of c; whether all are done. Nobody waits. */
CUresult context_points(struct context *c, struct marks **points);
bool points_done(const struct marks *m);
void points_release(struct marks *m);
/* What is issued into s from now on comes after the point. */
CUresult stream_after(struct stream *s, struct mark *m);
/* Whether what is issued into s from now on comes after the place anyway: it is s's own, events
 * say so, or one of both is the legacy stream. */
bool stream_follows(struct stream *s, const struct place *place);
/* The same of what waits for the point. */
bool point_follows(const struct mark *m, const struct place *place);
/* Whether the place's stream is a legacy one. */
bool place_in_legacy(const struct place *place);
/* Whether the place is in the legacy stream of s, and something was issued into s behind it. */
bool stream_came_after_legacy(struct stream *s, const struct place *place);
/* As if something was issued: memory was lent in s. */
void stream_note_lent(struct stream *s);
bool stream_is_at(const struct stream *s, const struct place *place);
/* Whether the place's stream is c's, as far as it still exists. */
bool place_in(const struct place *place, const struct context *c);

#endif
